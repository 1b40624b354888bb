// Whole chains as one kernel each: persistent kernels, which run all steps without a launch in
// between.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_chains(KernelTable& kernels, const Context& context);

}  // namespace antichain::cuda
