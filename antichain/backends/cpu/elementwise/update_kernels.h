// Steps of optimisers: a parameter and its buffers in one pass, in their own memory where nobody
// else reads them.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds kernels for the ops of antichain/ops/state/update_ops.h, one per level.
void register_optimiser_steps(KernelTable& kernels);

}  // namespace antichain::cpu
