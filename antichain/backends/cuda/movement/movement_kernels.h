// Ops that only move elements.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_movement(KernelTable& kernels, const Context& context);

/// Returns the kernel that copies to (`sets`) or from a window whose start lies on the GPU.
std::string dynamic_window_text(std::size_t rank, std::size_t element_bytes, DType start,
                                bool sets);

}  // namespace antichain::cuda
