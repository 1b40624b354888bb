// Sums, products, means, minima and maxima over axes.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_reductions(KernelTable& kernels, const Context& context);

/// Returns the kernel that computes an op at the sizes and layouts of a context.
std::string reduce_code(const KernelContext& context);

}  // namespace antichain::cuda
