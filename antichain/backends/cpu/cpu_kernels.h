// The CPU backend's kernels.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds every kernel that this build has for the CPU.
void register_kernels(KernelTable& kernels);

}  // namespace antichain::cpu
