// Kernels of the gradients of norms: antichain/ops/rows/normalization_gradients.h.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

void register_norm_gradients(KernelTable& kernels);

}  // namespace antichain::cpu
