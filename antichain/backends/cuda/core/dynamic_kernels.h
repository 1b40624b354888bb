// Ops whose result has a size that only the run finds out: the host waits for the size alone.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_dynamic(KernelTable& kernels, const Context& context);

/// Returns the kernels that find the elements that are not 0, for an element type and rank.
std::string nonzero_text(DType dtype, std::size_t rank);

}  // namespace antichain::cuda
