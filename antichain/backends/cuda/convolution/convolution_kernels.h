// Convolutions by cuDNN.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_convolution(KernelTable& kernels, const Context& context, bool tf32);

}  // namespace antichain::cuda
