// Matrix products by the BLAS library, where there is one.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds the kernel; without a BLAS library it refuses every op and says so.
void register_blas_matmul(KernelTable& kernels);

}  // namespace antichain::cpu
