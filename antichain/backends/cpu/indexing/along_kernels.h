// Kernels that walk along one axis: argmin, argmax and cumsum.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

void register_along_axis(KernelTable& kernels);

}  // namespace antichain::cpu
