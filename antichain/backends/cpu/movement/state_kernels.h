// Updates of states, in their own memory where nobody else reads them.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds kernels for `add_update`, one per level, and for `assign`.
void register_state_updates(KernelTable& kernels);

}  // namespace antichain::cpu
