// Fused ops that reduce rows, as generated kernels: softmax, layer norm, cross-entropy, their
// gradients.
//
// Lanes of a warp have a short row, or all threads of a block a longer one, and keep its elements
// in registers from walk to walk (row_body.h), so that it is read once. Rows that are too long for
// that are read by each walk, and those that are few, long and reduced to numbers in one walk are
// dealt to several blocks. row_layout.h chooses, row_writer.h writes the text.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

/// Says whether a fused op can be computed so.
Support supports_rows(Op fused);
/// Returns the kernel for the layouts of a context; with `split`, the one that deals each row to
/// several blocks, if the op allows it.
std::string row_code(const KernelContext& context, bool split = false);
KernelFunction plan_rows(const KernelContext& context, const Context& device);

}  // namespace antichain::cuda
