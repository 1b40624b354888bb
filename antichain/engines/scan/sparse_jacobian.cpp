#include "antichain/engines/scan/sparse_jacobian.h"

#include "antichain/base/error.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain::scan {

namespace {

// Per example; beyond, a run would take seconds for each.
constexpr std::int64_t kMostMultiplications = std::int64_t{1} << 31;
constexpr std::int64_t kMostStored = std::int64_t{1} << 27;

// The values with a zero behind them, for elements that are not stored.
Var picked(const SparseJacobian& jacobian, const std::vector<std::int32_t>& elements) {
  const Var values = jacobian.matrix.values;
  const Var zero = zeros(values.graph(), values.dtype(), {values.dim(0), 1});
  return gather(concat({values, zero}, 1), constant_indices(values.graph(), elements), 1);
}

}  // namespace

Var constant_indices(Graph& graph, const std::vector<std::int32_t>& indices) {
  return constant(graph,
                  Tensor::of<std::int32_t>({static_cast<std::int64_t>(indices.size())}, indices));
}

SparseJacobian make_jacobian(CsrPattern pattern, Var values) {
  Graph& graph = values.graph();
  const Csr matrix{values, constant_indices(graph, pattern.columns),
                   constant_indices(graph, pattern.row_starts), pattern.num_columns};
  return {std::make_shared<const CsrPattern>(std::move(pattern)), matrix};
}

SparseJacobian identity_jacobian(Graph& graph, DType dtype, std::int64_t size) {
  SparseJacobian identity = make_jacobian(identity_pattern(size), ones(graph, dtype, {1, size}));
  identity.is_identity = true;
  return identity;
}

SparseJacobian composed(const SparseJacobian& first, const SparseJacobian& then) {
  if (first.is_identity || then.is_identity) {
    return first.is_identity ? then : first;
  }
  const std::int64_t multiplications = count_multiplications(*first.pattern, *then.pattern);
  require<NotSupported>(multiplications <= kMostMultiplications,
                        "engine 'scan': a product of two sparse Jacobians takes {} "
                        "multiplications per example, which is too many; ask for a smaller chunk "
                        "of algorithm hybrid, or for serial",
                        multiplications);
  SparseJacobian product = make_jacobian(
      product_pattern(*first.pattern, *then.pattern, kMostStored), first.matrix.values);
  product.matrix.values = csr_product(first.matrix, then.matrix, product.matrix);
  return product;
}

SparseJacobian added(const SparseJacobian& a, const SparseJacobian& b) {
  if (*a.pattern == *b.pattern) {
    SparseJacobian sum = a;
    sum.matrix.values = a.matrix.values + b.matrix.values;
    sum.is_identity = false;
    return sum;
  }
  PatternSum sum = sum_pattern(*a.pattern, *b.pattern);
  return make_jacobian(std::move(sum.pattern), picked(a, sum.of_a) + picked(b, sum.of_b));
}

Var applied(const SparseJacobian& jacobian, Var gradient) {
  if (jacobian.is_identity) {
    return gradient;
  }
  // Vectors are matrices with one column, all of whose elements are stored.
  Graph& graph = gradient.graph();
  const auto vectors = [&graph](Var values, std::int64_t size) -> Csr {
    return {values, zeros(graph, i32, {size}), iota(graph, i32, size + 1), 1};
  };
  return csr_product(jacobian.matrix, vectors(gradient, jacobian.pattern->num_columns),
                     vectors({}, jacobian.pattern->rows()));
}

std::vector<Var> swept(const Sweep& plan, std::vector<SparseJacobian> jacobians, Var gradient) {
  ensure(static_cast<int>(jacobians.size()) == plan.stages, "a sweep over {} stages, but {}",
         plan.stages, jacobians.size());
  // Operands are counted from the gradient; each is a vector or a matrix.
  std::vector<SparseJacobian>& matrices = jacobians;
  matrices.insert(matrices.begin(), SparseJacobian());
  std::vector<Var> vectors(matrices.size());
  vectors[0] = gradient;
  for (const SweepStep& step : plan.steps) {
    const auto left = static_cast<std::size_t>(step.left),
               right = static_cast<std::size_t>(step.right);
    vectors.push_back(step.to_vector ? applied(matrices[left], vectors[right]) : Var());
    matrices.push_back(step.to_vector ? SparseJacobian()
                                      : composed(matrices[left], matrices[right]));
  }
  std::vector<Var> gradients;
  for (const int found : plan.gradients) {
    gradients.push_back(vectors[static_cast<std::size_t>(found)]);
  }
  return gradients;
}

}  // namespace antichain::scan
