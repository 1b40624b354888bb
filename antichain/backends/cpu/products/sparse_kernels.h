// Kernels of products with sparse matrices.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Prepares csr_product.
KernelFunction plan_csr_product(const KernelContext& context);

/// Adds csr_matmul, csr_sampled_matmul and csr_product.
void register_sparse(KernelTable& kernels);

}  // namespace antichain::cpu
