#include "antichain/ops/per_channel.h"

#include "antichain/ops/elementwise.h"
#include "antichain/ops/shape_ops.h"

namespace antichain {

DType require_channels(InferContext& context, int x) {
  context.require_dtype(x, kFloats);
  context.require_min_rank(x, 2);
  const DType dtype = context.require_same_dtype(x + 1);
  require<TypeError>(
      dtype == context.dtype(x) || (size_of(context.dtype(x)) == 2 && dtype == DType::f32),
      "{}: numbers per channel of type {} do not go with x of type {}; accepted: {}{}",
      context.op_name(), name(dtype), name(context.dtype(x)), name(context.dtype(x)),
      size_of(context.dtype(x)) == 2 ? ", f32" : "");
  for (int i = x + 1; i < context.num_inputs(); ++i) {
    context.require_rank(i, 1);
    context.unify(context.shape(x)[1], context.shape(i)[0], "channels");
  }
  return dtype;
}

Var per_channel(Var value, Var x) {
  Dims shape(static_cast<std::size_t>(x.rank()), Dim(1));
  shape[1] = x.dim(1);
  return reshape(value, shape);
}

Ints all_but_channels(Var x) {
  Ints axes = {0};
  for (int axis = 2; axis < x.rank(); ++axis) {
    axes.push_back(axis);
  }
  return axes;
}

Var as_dtype(Var x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

}  // namespace antichain
