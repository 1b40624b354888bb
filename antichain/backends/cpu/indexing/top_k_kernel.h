// The best few elements of each row, as the labels that a classifier ranks first.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

void register_top_k(KernelTable& kernels);

}  // namespace antichain::cpu
