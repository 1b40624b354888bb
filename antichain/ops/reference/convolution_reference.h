// Reference kernels of convolution and its gradients: one walk over all products, three things to
// add up.
#pragma once

#include "antichain/graph/kernel_context.h"

namespace antichain {

/// Computes the convolution of inputs x and weight.
void conv_reference(KernelContext& context);
/// Computes the gradient with respect to x of inputs output_grad and weight; also the transposed
/// convolution.
void conv_input_gradient_reference(KernelContext& context);
/// Computes the gradient with respect to the weight of inputs output_grad and x.
void conv_weight_gradient_reference(KernelContext& context);

}  // namespace antichain
