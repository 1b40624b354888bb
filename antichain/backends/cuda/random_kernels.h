// Random numbers: the functions of antichain/base/random_functions.h, on the GPU.
#pragma once

#include "antichain/backends/cuda/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_random(KernelTable& kernels, const Context& context);

}  // namespace antichain::cuda
