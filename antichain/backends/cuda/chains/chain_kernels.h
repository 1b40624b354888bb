// Whole chains as one kernel each: persistent kernels, which run all steps without a launch in
// between.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

/// `tf32`: whether products elsewhere may round f32 numbers for tensor cores, which large ones then
/// are faster by.
void register_chains(KernelTable& kernels, const Context& context, bool tf32);

}  // namespace antichain::cuda
