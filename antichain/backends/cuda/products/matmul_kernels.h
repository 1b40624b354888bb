// Matrix products by cuBLASLt, alone or with a bias and relu behind them, which it computes before
// it stores the product.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_matmul(KernelTable& kernels, const Context& context, bool tf32);

/// Returns the strides, in elements, at which the matrices of a packed operand lie for a batch of
/// results.
Strides batch_strides(const Shape& own, const Shape& batch);

}  // namespace antichain::cuda
