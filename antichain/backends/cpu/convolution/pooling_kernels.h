// Pooling by direct loops: one plane (a channel of an example) after the other, several at once.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds the kernels of max_pool and avg_pool.
void register_pooling(KernelTable& kernels);

}  // namespace antichain::cpu
