// Kernels by oneDNN, where it is there.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds the kernels; in a build without oneDNN they refuse every op and say so.
void register_onednn_matmul(KernelTable& kernels);
void register_onednn_convolution(KernelTable& kernels);

}  // namespace antichain::cpu
