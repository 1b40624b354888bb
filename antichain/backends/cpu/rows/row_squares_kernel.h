// The sum of squares of a gradient, row by row.
#pragma once

#include "antichain/runtime/kernel_table.h"

namespace antichain::cpu {

/// Adds a kernel for sum_row_squares.
void register_row_squares(KernelTable& kernels);

}  // namespace antichain::cpu
