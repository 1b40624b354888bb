// Searches and running sums along an axis.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_along_axis(KernelTable& kernels, const Context& context);

/// Returns the kernel that finds the position of the largest or smallest element.
std::string choice_text(DType dtype, bool largest);

}  // namespace antichain::cuda
