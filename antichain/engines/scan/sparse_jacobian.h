// Transposed Jacobians of a batch as sparse matrices in a graph: the pattern is a constant, the
// values are computed in every run.
#pragma once

#include <memory>

#include "antichain/engines/scan/csr_pattern.h"
#include "antichain/engines/scan/sweep.h"
#include "antichain/ops/products/sparse.h"

namespace antichain::scan {

/// The transposed Jacobian of how each example of an output depends on the same example of an
/// input: a row per number of the input, a column per number of the output. The values are
/// [examples, stored], or [1, stored] where they are the same for all examples.
struct SparseJacobian {
  std::shared_ptr<const CsrPattern> pattern;
  Csr matrix;
  bool is_identity = false;  // so products with it are free
};

/// Puts the pattern into the graph's current region.
SparseJacobian make_jacobian(CsrPattern pattern, Var values);
SparseJacobian identity_jacobian(Graph& graph, DType dtype, std::int64_t size);

/// Returns that of two functions in a row.
SparseJacobian composed(const SparseJacobian& first, const SparseJacobian& then);
/// Returns that of the sum of two functions of one value.
SparseJacobian added(const SparseJacobian& a, const SparseJacobian& b);
/// Multiplies with the gradients of the output, [examples, columns]: those of the input,
/// [examples, rows].
Var applied(const SparseJacobian& jacobian, Var gradient);

/// Multiplies by a plan: given the Jacobians from the last stage to the first and the gradient at
/// the end, [examples, numbers], returns the gradients behind each stage, in that order.
std::vector<Var> swept(const Sweep& plan, std::vector<SparseJacobian> jacobians, Var gradient);

/// Returns numbers as a constant of the graph.
Var constant_indices(Graph& graph, const std::vector<std::int32_t>& indices);

}  // namespace antichain::scan
