// Kernels of products with sparse matrices.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds csr_matmul and csr_sampled_matmul.
void register_sparse(KernelTable& kernels);

}  // namespace antichain::cpu
