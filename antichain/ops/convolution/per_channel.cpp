#include "antichain/ops/convolution/per_channel.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

std::vector<AttrSpec> norm_attributes() {
  return {{"epsilon", "added to the variance", {1e-5}},
          {"axis", "that of the channels", {std::int64_t{1}}}};
}

int channel_axis(const Attrs& attrs, Var x) {
  return normalize_axis(attrs.get<std::int64_t>("axis"), x.rank());
}

std::size_t channels_of(const InferContext& context, int x) {
  return static_cast<std::size_t>(context.axis("axis", context.rank(x)));
}

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
    context.unify(context.shape(x)[channels_of(context, x)], context.shape(i)[0], "channels");
  }
  return dtype;
}

Var per_channel(Var value, Var x, int axis) {
  Dims shape(static_cast<std::size_t>(x.rank()), Dim(1));
  shape[static_cast<std::size_t>(axis)] = x.dim(axis);
  return reshape(value, shape);
}

Var channel_count(Var x, int axis, DType dtype) {
  Dim count(1);
  for (const std::int64_t other : all_but_channels(x, axis)) {
    count = count * x.dim(static_cast<int>(other));
  }
  return cast(dim_value(x.graph(), count), dtype);
}

Ints all_but_channels(Var x, int axis) {
  Ints axes;
  for (int other = 0; other < x.rank(); ++other) {
    if (other != axis) {
      axes.push_back(other);
    }
  }
  return axes;
}

Var as_dtype(Var x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

}  // namespace antichain
