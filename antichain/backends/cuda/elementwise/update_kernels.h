// Steps of optimisers: the rules of antichain/ops/state/update_rules.h, on the GPU.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_optimiser_steps(KernelTable& kernels, const Context& context);

/// Returns the kernel of an update.
std::string update_code(const KernelContext& context);

}  // namespace antichain::cuda
