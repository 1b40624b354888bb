// Conversions of several values by one kernel.
#pragma once

#include <string>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_casts(KernelTable& kernels, const Context& context);

/// Returns the kernel that converts as many values.
std::string casts_text(DType from, DType to, std::size_t values);

}  // namespace antichain::cuda
