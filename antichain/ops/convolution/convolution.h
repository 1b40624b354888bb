// Convolution over one or more spatial axes, with its two gradients: x[n, c, spatial...], or
// x[n, spatial..., c], and weight[out, in / groups, spatial...] in any case. (The field's
// convolution: the weight is not flipped.)
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Per spatial axis; an empty list means the default (1, or 0 for padding) for every axis.
struct ConvOptions {
  Ints stride = {};
  Ints padding = {};  // zeros on both sides
  Ints dilation = {};
  std::int64_t groups = 1;
  bool channels_last = false;  // of x and of the output
};
Var conv(const Operand& x, const Operand& weight, const ConvOptions& options = {});
/// Spreads each input element over a window: weight[in, out / groups, spatial...]. `output_padding`
/// adds rows at the end, to choose among the sizes that a strided convolution maps to the same
/// size.
Var conv_transpose(const Operand& x, const Operand& weight, const ConvOptions& options = {},
                   const Ints& output_padding = {});
/// The gradient of conv with respect to x, whose spatial sizes are given.
Var conv_input_gradient(const Operand& output_grad, const Operand& weight,
                        const Dims& input_spatial, const ConvOptions& options = {});
/// The gradient of conv with respect to the weight, whose spatial sizes are given.
Var conv_weight_gradient(const Operand& output_grad, const Operand& x, const Dims& weight_spatial,
                         const ConvOptions& options = {});

const OpDef& conv_def();
const OpDef& conv_input_gradient_def();
const OpDef& conv_weight_gradient_def();
const OpDef& conv_transpose_def();

std::vector<const OpDef*> convolution_family();

}  // namespace antichain
