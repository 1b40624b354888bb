// Products of matrices of integers, which cuBLASLt does not multiply.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/backends/cuda/elementwise/strided_loop.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_integer_matmul(KernelTable& kernels, const Context& context);

/// Returns the kernel for operands and a result of these types, which are transposed or not. The
/// loop is over the matrices of a batch.
std::string integer_matmul_text(DType in, DType out, bool transpose_a, bool transpose_b,
                                const StridedLoop& batch);

}  // namespace antichain::cuda
