// Draws, a block of words at a time and on all threads: the same bits as the reference's.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds kernels for random_uniform, random_normal and random_bernoulli, one per level.
void register_random(KernelTable& kernels);

}  // namespace antichain::cpu
