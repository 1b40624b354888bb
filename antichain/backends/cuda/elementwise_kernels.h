// Element-wise ops and fused ones, as generated kernels.
#pragma once

#include "antichain/backends/cuda/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_elementwise(KernelTable& kernels, const Context& context);

/// Plans the element-wise ops of an op, whose values have one shape. What a fused product
/// multiplies is computed already: the product is the last input of the context.
KernelFunction plan_elements(const KernelContext& context, const Context& device);
/// Returns the kernel that computes an op at the sizes and layouts of a context.
std::string elementwise_code(const KernelContext& context);

}  // namespace antichain::cuda
