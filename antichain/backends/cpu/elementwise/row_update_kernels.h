// Steps of optimisers on some rows of a parameter and its buffers, where they lie.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds kernels for the ops of antichain/ops/state/row_updates.h, one per level.
void register_row_updates(KernelTable& kernels);

}  // namespace antichain::cpu
