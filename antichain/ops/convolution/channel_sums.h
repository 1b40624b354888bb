// What batch norm and its gradient need to know of every channel before they can change an element:
// sums over all axes but that of the channels. On devices that have no kernel for the norms
// themselves, they consist of these and of element-wise ops, which fuse with what is around them.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

struct ChannelMoments {
  Var mean, variance;  // per channel; the variance is divided by the count
};
/// Returns the moments of every channel (`axis`) as values of type `dtype`: that of x, or f32 for
/// an x of 16 bits.
ChannelMoments channel_moments(const Operand& x, DType dtype, std::int64_t axis = 1);

struct ChannelGradientSums {
  Var grad, product;  // per channel
};
/// Returns sum(grad) and sum(grad * (x - mean) * slope) of every channel, in the type of mean and
/// slope, which have a number per channel.
ChannelGradientSums channel_gradient_sums(const Operand& grad, const Operand& x,
                                          const Operand& mean, const Operand& slope,
                                          std::int64_t axis = 1);

const OpDef& channel_moments_def();
const OpDef& channel_gradient_sums_def();

std::vector<const OpDef*> channel_sum_family();

}  // namespace antichain
