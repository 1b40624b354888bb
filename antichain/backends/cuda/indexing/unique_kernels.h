// unique_indices on the GPU: sorted, first ones marked, marks added up.
#pragma once

#include <string>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_unique_indices(KernelTable& kernels, const Context& device);

/// Returns the text of its kernels.
std::string unique_text();

}  // namespace antichain::cuda
