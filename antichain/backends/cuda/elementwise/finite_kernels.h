// assert_finite: what is wrong is reported when somebody waits for the GPU (index_report.h).
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_finite_check(KernelTable& kernels, const Context& context);

/// Returns the kernels for an element type and a rank.
std::string finite_text(DType dtype, std::size_t rank);

}  // namespace antichain::cuda
