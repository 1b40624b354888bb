// Element-wise ops by vector instructions, for every level that was compiled.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds a kernel per operator and level, the widest registers first; those that this CPU cannot run
/// refuse.
void register_elementwise(KernelTable& kernels);

}  // namespace antichain::cpu
