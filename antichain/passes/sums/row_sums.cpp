#include "antichain/passes/sums/row_sums.h"

#include <algorithm>

#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/passes/graph_copy.h"

namespace antichain {

namespace {

constexpr std::int64_t kManyRows = 4096;   // where kernels for tall matrices begin
constexpr std::int64_t kFewColumns = 256;  // of a matrix and of what it is multiplied by

}  // namespace

bool is_few(Dim size) {
  return size.is_constant() && size.constant() > 0 && size.constant() <= kFewColumns;
}

bool is_many(Dim size) { return !size.is_constant() || size.constant() >= kManyRows; }

Dim num_rows(Var value) {
  const Dims& shape = value.shape();
  return numel({shape.begin(), shape.end() - 1});
}

bool is_sum_of_rows(Op op) {
  if ((&op.def() != &sum_to_def() && &op.def() != &sum_def()) || !is_free(op)) {
    return false;
  }
  const Var whole = op.input(0), found = op.output();
  if (&op.def() == &sum_def() &&
      std::ranges::count(op.attrs().get<Ints>("axes"), whole.rank() - 1) > 0) {
    return false;  // columns are added up, too
  }
  return found.rank() > 0 && found.dim(-1) == whole.dim(-1) && num_rows(found) == Dim(1);
}

bool is_narrow_product(Op op) {
  return &op.def() == &matmul_def() && is_free(op) && !(op.input(0) == op.input(1)) &&
         op.input(0).rank() == 2 && op.input(1).rank() == 2 && is_few(op.output().dim(0)) &&
         is_few(op.output().dim(1));
}

}  // namespace antichain
