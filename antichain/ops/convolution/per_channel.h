// Parts of the norms that treat every channel, their attribute `axis`, by itself.
#pragma once

#include <vector>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/operand.h"

namespace antichain {

/// Returns the attributes of all of them.
std::vector<AttrSpec> norm_attributes();
/// Returns the axis of the channels, counted from the front.
int channel_axis(const Attrs& attrs, Var x);
/// Likewise, for inference, of input `x`.
std::size_t channels_of(const InferContext& context, int x);
/// Requires that input `x` has channels and that the inputs behind it hold one number for each; of
/// a 16-bit x these may be f32. Returns their type.
DType require_channels(InferContext& context, int x);
/// Returns a value per channel in a shape that broadcasts against x.
Var per_channel(Var value, Var x, int axis);
/// Returns how many elements of x a channel has, as a number of this type.
Var channel_count(Var x, int axis, DType dtype);
/// Returns all axes of x but that of the channels.
Ints all_but_channels(Var x, int axis);
/// Converts x to another type; x itself when it has that type.
Var as_dtype(Var x, DType dtype);

}  // namespace antichain
