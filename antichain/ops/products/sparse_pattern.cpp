#include "antichain/ops/products/sparse_pattern.h"

#include "antichain/ops/shape/require_size.h"

namespace antichain {

Dim require_pattern(InferContext& context, int columns, Dim num_columns) {
  const int row_starts = columns + 1;
  for (const int input : {columns, row_starts}) {
    context.require_rank(input, 1);
    context.require_dtype(input, {DType::i32, DType::i64});
  }
  require<TypeError>(context.dtype(columns) == context.dtype(row_starts),
                     "{}: columns are {}, but row_starts are {}; cast one of them",
                     context.op_name(), name(context.dtype(columns)),
                     name(context.dtype(row_starts)));
  const Dim starts = context.shape(row_starts)[0];
  require<ShapeError>(
      starts.range().max >= 1,
      "{}: row_starts has one element more than there are rows, so it cannot be empty",
      context.op_name());
  context.unify(max(starts, 1), starts, "empty row_starts and their smallest size");
  require_size(context, num_columns, "num_columns");
  return starts - 1;
}

DType require_floats(const InferContext& context, int first, int second) {
  context.require_dtype(first, kFloats);
  require<TypeError>(context.dtype(first) == context.dtype(second),
                     "{}: inputs {} and {} have different types, {} and {}; cast one of them",
                     context.op_name(), first, second, name(context.dtype(first)),
                     name(context.dtype(second)));
  return context.dtype(first);
}

}  // namespace antichain
