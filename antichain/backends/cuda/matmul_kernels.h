// Matrix products by cuBLASLt, alone or with a bias and relu behind them, which it computes before
// it stores the product.
#pragma once

#include "antichain/backends/cuda/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_matmul(KernelTable& kernels, const Context& context, bool tf32);

}  // namespace antichain::cuda
