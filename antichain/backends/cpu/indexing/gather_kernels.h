// Kernels of the ops that look elements up, or make them from indices.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds gather, embedding, take_along, one_hot and iota.
void register_gather(KernelTable& kernels);
/// Adds scatter_add, scatter_add_along and embedding_bag.
void register_scatter(KernelTable& kernels);
/// Adds unique_indices.
void register_unique_indices(KernelTable& kernels);

}  // namespace antichain::cpu
