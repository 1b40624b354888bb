// Kernels of the ops in antichain/ops/hashing.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

void register_hash_codes(KernelTable& kernels);
void register_hash_tables(KernelTable& kernels);
void register_active_units(KernelTable& kernels);
void register_shared_active_units(KernelTable& kernels);

inline void register_hashing(KernelTable& kernels) {
  register_hash_codes(kernels);
  register_hash_tables(kernels);
  register_active_units(kernels);
  register_shared_active_units(kernels);
}

}  // namespace antichain::cpu
