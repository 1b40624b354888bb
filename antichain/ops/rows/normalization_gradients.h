// Gradients of norms as one op each: what would otherwise be a dozen walks over the values.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Returns the gradient of softmax along the last axis, given its result y: y * (grad - sum(grad *
/// y)).
Var softmax_gradient(const Operand& grad, const Operand& y);

struct BatchNormGradient {
  Var x, scale, bias;
};
/// Returns the gradients of batch_norm's output with respect to its inputs, mean and variance being
/// what batch_norm returned for x. Statistics do not depend on x here: whoever differentiates again
/// gets their part through them.
BatchNormGradient batch_norm_gradient(const Operand& grad, const Operand& x, const Operand& scale,
                                      const Operand& mean, const Operand& variance, double epsilon,
                                      std::int64_t axis = 1);

const OpDef& softmax_gradient_def();
const OpDef& batch_norm_gradient_def();

std::vector<const OpDef*> normalization_gradient_family();

}  // namespace antichain
