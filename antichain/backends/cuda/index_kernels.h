// Looking up by indices.
#pragma once

#include "antichain/backends/cuda/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

// gather, take_along, one_hot, and one_hot of indices that must name an element
enum class Lookup { slices, elements, marks, checked_marks };

void register_indexing(KernelTable& kernels, const Context& context);

/// Returns the kernel for these element types.
std::string lookup_text(Lookup lookup, DType dtype, DType index);

}  // namespace antichain::cuda
