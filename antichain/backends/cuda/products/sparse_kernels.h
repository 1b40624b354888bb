// Products with sparse matrices: a block of threads per row of the result.
//
// What the threads of a block have added up is joined in an order that the sizes decide, in double:
// results have the same bits in every run.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_sparse(KernelTable& kernels, const Context& context);

/// Returns the kernels for these element types; a turned pattern says which element comes when.
std::string csr_matmul_text(DType dtype, DType index, bool turned);
std::string csr_sampled_matmul_text(DType dtype, DType index);

}  // namespace antichain::cuda
