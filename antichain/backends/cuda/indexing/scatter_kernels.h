// Adding by indices, in the order of the indices: sums have the same bits in every run.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

void register_scatter(KernelTable& kernels, const Context& context);

/// Returns the kernel for these element types. Updates are whole slices, or one element per index
/// (`along`); they are found by looking at every index, or are grouped (index_groups.h) before.
std::string scatter_text(DType dtype, DType index, bool along, bool grouped);
/// Returns the kernel for slices that change few elements, which lie where the result does.
std::string scatter_few_text(DType dtype);
/// Returns C++ for the group of an update.
std::string_view scatter_group(bool along);

}  // namespace antichain::cuda
