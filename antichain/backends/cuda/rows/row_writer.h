// Kernels of fused ops that reduce rows, as text.
#pragma once

#include <string>

#include "antichain/backends/cuda/rows/row_body.h"
#include "antichain/backends/cuda/rows/row_layout.h"

namespace antichain::cuda {

/// Returns CUDA C++ with a kernel `fused_rows`, whose arguments are the slots of the layout's outer
/// and inner loops, then rows, length, parts and length of a part, where blocks leave what they
/// have found of a part, their counters, whether all runs are aligned, the inputs and the outputs.
std::string row_text(const KernelContext& context, const RowBody& body, const RowLayout& layout);

}  // namespace antichain::cuda
