#include "antichain/ops/shape/dynamic_shape.h"

namespace antichain {

namespace {

// Sizes from a shape computed in the graph: known ones as they are, the others found out by the
// run.
Dims sizes_from_value(InferContext& context, int input) {
  context.require_dtype(input, {DType::i64, DType::i32});
  context.require_rank(input, 1);
  const Dim rank = context.shape(input)[0];
  require<ShapeError>(rank.is_constant(), "{}: the length of the shape must be known, got {}",
                      context.op_name(), rank.str());
  if (context.type(input).value) {
    return *context.type(input).value;
  }
  Dims shape;
  for (std::int64_t i = 0; i < rank.constant(); ++i) {
    shape.push_back(context.fresh_dim("size"));
  }
  return shape;
}

}  // namespace

std::vector<VarType> infer_to_dynamic_shape(InferContext& context) {
  context.require_inputs(2);
  return {{context.dtype(0), sizes_from_value(context, 1)}};
}

}  // namespace antichain
