// Element-wise ops and fused ones, as generated kernels.
#pragma once

#include "antichain/backends/cuda/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_elementwise(KernelTable& kernels, const Context& context);

/// Returns the kernel that computes an op at the sizes and layouts of a context.
std::string elementwise_code(const KernelContext& context);

}  // namespace antichain::cuda
