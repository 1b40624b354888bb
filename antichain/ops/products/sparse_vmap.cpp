#include "antichain/ops/products/sparse_vmap.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

// The matrices of all copies as the diagonal blocks of one, without values; `columns` and the input
// behind it make a pattern.
Csr diagonal_blocks(const VmapContext& context, int columns, Dim num_columns) {
  Graph& graph = context.graph();
  const Var starts = cast(context.repeated(columns + 1), DType::i64);
  const Dim stored = context.op().input(columns).dim(0);
  const Var rows = slice(starts, {{.axis = 1, .start = 1}});  // where each row ends
  const Var shifted = indices_in_all_copies(context, context.repeated(columns), num_columns);
  const Var ends = rows + copy_numbers(context, 2) * dim_value(graph, stored);
  return {{},
          reshape(shifted, {context.copies() * stored}),
          concat({zeros(graph, DType::i64, {1}), reshape(ends, {numel(rows.shape())})}, 0),
          num_columns * context.copies()};
}

}  // namespace

std::optional<Vars> vmap_csr_matmul(VmapContext& context) {
  const Dim num_columns = context.attrs().get<Dim>("num_columns");
  const bool transposed = context.attrs().get<bool>("transposed");
  const Dims& shape = context.op().output().shape();
  const bool is_shared = !context.is_mapped(0) && !context.is_mapped(1) && !context.is_mapped(2);
  if (is_shared) {
    const Var dense = move_axis(context.value(3), 0, 1);  // [inner, copies, columns]
    const Csr sparse{context.value(0), context.value(1), context.value(2), num_columns};
    const Var side_by_side = reshape(dense, {dense.dim(0), dense.dim(1) * dense.dim(2)});
    const Var product = csr_matmul(sparse, side_by_side, transposed);
    return Vars{move_axis(reshape(product, {shape[0], context.copies(), shape[1]}), 1, 0)};
  }
  Csr blocks = diagonal_blocks(context, 1, num_columns);
  blocks.values = fold_copies(context.repeated(0));
  const Var product = csr_matmul(blocks, fold_copies(context.repeated(3)), transposed);
  return Vars{unfold_copies(product, context.copies(), shape)};
}

std::optional<Vars> vmap_csr_sampled_matmul(VmapContext& context) {
  const Csr blocks = diagonal_blocks(context, 0, context.attrs().get<Dim>("num_columns"));
  const Var found = csr_sampled_matmul(blocks, fold_copies(context.repeated(2)),
                                       fold_copies(context.repeated(3)));
  return Vars{unfold_copies(found, context.copies(), context.op().output().shape())};
}

std::optional<Vars> vmap_csr_product(VmapContext& context) {
  constexpr int kFirst = 0, kSecond = 3;  // values of the two factors
  const Dims& shape = context.op().output().shape();
  Vars inputs = context.values();
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (i != kFirst && i != kSecond) {
      if (context.is_mapped(i)) {
        return std::nullopt;
      }
      continue;
    }
    // One matrix for all of a batch, in all copies, stays one.
    const Var own = context.op().input(i);
    if (context.is_mapped(i) || !(own.dim(0) == Dim(1))) {
      const Dims all = context.with_copies({shape[0], own.dim(1)});
      inputs[static_cast<std::size_t>(i)] = fold_copies(broadcast_to(context.repeated(i), all));
    }
  }
  return Vars{unfold_copies(context.same_op(inputs, context.attrs())[0], context.copies(), shape)};
}

}  // namespace antichain
