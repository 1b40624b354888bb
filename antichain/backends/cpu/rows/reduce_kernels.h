// Kernels of the reductions.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds sum, prod, mean, reduce_min, reduce_max, variance, logsumexp and sum_to at every level.
void register_reductions(KernelTable& kernels);

}  // namespace antichain::cpu
