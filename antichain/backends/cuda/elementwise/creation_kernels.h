// Values that depend on sizes alone.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_creation(KernelTable& kernels, const Context& context);

/// Returns the kernel that counts in an element type.
std::string iota_text(DType dtype);
/// Returns the kernel that writes its arguments down.
std::string numbers_text(std::size_t count);

}  // namespace antichain::cuda
