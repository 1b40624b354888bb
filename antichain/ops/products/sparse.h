// Sparse matrices in CSR form: values[nnz], columns[nnz], row_starts[rows + 1].
#pragma once

#include "antichain/ops/operand.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

/// A sparse matrix of values in a graph. Only `values` carries a gradient.
struct Csr {
  Var values;      // float[nnz]
  Var columns;     // i32 or i64[nnz]
  Var row_starts;  // same type[rows + 1], not decreasing, from 0 to nnz
  Dim num_columns;
};
/// Multiplies sparse [rows, columns] by dense [columns, n]; transposed: [columns, rows] by [rows,
/// n].
Var csr_matmul(const Csr& sparse, const Operand& dense, bool transposed = false);
/// Returns (a · bᵀ) at the stored positions: the gradient of csr_matmul with respect to the values.
/// The values of the pattern are not used and may be none.
Var csr_sampled_matmul(const Csr& pattern, const Operand& a, const Operand& b);

struct CsrProductOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};
/// Returns the elements of a · b at the stored positions of a third sparse matrix, whose values may
/// be none; what falls elsewhere is left out. The values of all have one more axis in front, along
/// which matrices of one pattern lie: values[count, nnz]. A count of 1 goes with any other.
Var csr_product(const Csr& a, const Csr& b, const Csr& pattern,
                const CsrProductOptions& options = {}, Place place = Place::current());

const OpDef& csr_matmul_def();
const OpDef& csr_sampled_matmul_def();
const OpDef& csr_product_def();

std::vector<const OpDef*> sparse_family();

}  // namespace antichain
