// Fused ops that reduce rows, as generated kernels: one block of threads per row, or several where
// rows are few, long and reduced to numbers.
//
// A row is walked once for every round of reductions and once for the results. What a walk needs of
// the element-wise ops is computed in it again from the inputs, which the first walk has brought
// into the caches, so nothing is stored in between.
#pragma once

#include "antichain/backends/cuda/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

/// Says whether a fused op can be computed so.
Support supports_rows(Op fused);
/// Returns the kernel for the layouts of a context; with `split`, the one that deals each row to
/// several blocks, if the op allows it.
std::string row_code(const KernelContext& context, bool split = false);
KernelFunction plan_rows(const KernelContext& context, const Context& device);

}  // namespace antichain::cuda
