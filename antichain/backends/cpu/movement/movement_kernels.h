// Kernels of the ops that only move elements; all of them are strided copies.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds broadcast_to, reshape, transpose, flip, tile, concat, stack, split and slice.
void register_movement(KernelTable& kernels);
/// Adds pad, set_slice, dynamic_slice and dynamic_set_slice.
void register_windows(KernelTable& kernels);

}  // namespace antichain::cpu
