// Convolution and its gradients by the BLAS library, where there is one.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds the kernels; without a BLAS library they refuse every op and say so.
void register_blas_convolution(KernelTable& kernels);

}  // namespace antichain::cpu
