// Sorting lines along an axis: short ones by counting what comes in front of each element, long
// ones by digits (radix_sort.h).
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_sorting(KernelTable& kernels, const Context& context);

/// Returns the kernels for an element type.
std::string sort_text(DType dtype);

}  // namespace antichain::cuda
