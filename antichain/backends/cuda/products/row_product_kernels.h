// Sums over the rows of several matrices at once.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_row_products(KernelTable& kernels, const Context& context);

}  // namespace antichain::cuda
