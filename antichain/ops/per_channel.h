// Parts of the norms that treat every channel, axis 1, by itself.
#pragma once

#include "antichain/graph/infer_context.h"
#include "antichain/ops/operand.h"

namespace antichain {

/// Requires that input `x` has channels and that the inputs behind it hold one number for each; of
/// a 16-bit x these may be f32. Returns their type.
DType require_channels(InferContext& context, int x);
/// Returns a value per channel in a shape that broadcasts against x.
Var per_channel(Var value, Var x);
/// Returns all axes of x but that of the channels.
Ints all_but_channels(Var x);
/// Converts x to another type; x itself when it has that type.
Var as_dtype(Var x, DType dtype);

}  // namespace antichain
