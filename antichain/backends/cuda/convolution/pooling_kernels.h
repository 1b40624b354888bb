// The largest element of windows.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_pooling(KernelTable& kernels, const Context& context);

/// Returns the kernel for an element type and a number of spatial axes.
std::string pool_text(DType dtype, std::size_t axes, bool channels_last);

}  // namespace antichain::cuda
