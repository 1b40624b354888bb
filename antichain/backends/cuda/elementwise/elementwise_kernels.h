// Element-wise ops and fused ones, as generated kernels.
#pragma once

#include <string>
#include <vector>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_elementwise(KernelTable& kernels, const Context& context);

/// Returns which inputs of a fused product its element-wise ops read.
std::vector<std::size_t> element_inputs(Op fused_product);
/// Plans the element-wise ops of an op, whose values have one shape. A fused product has been
/// multiplied by then: the inputs of the context are element_inputs() and the product.
KernelFunction plan_elements(const KernelContext& context, const Context& device);
/// Returns the kernel that computes an op at the sizes and layouts of a context.
std::string elementwise_code(const KernelContext& context);

}  // namespace antichain::cuda
