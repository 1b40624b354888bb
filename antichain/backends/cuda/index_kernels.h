// Looking up by indices.
#pragma once

#include "antichain/backends/cuda/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

enum class Lookup { slices, elements, marks };  // gather, take_along, one_hot

void register_indexing(KernelTable& kernels, const Context& context);

/// Returns the kernel for these element types.
std::string lookup_text(Lookup lookup, DType dtype, DType index);

}  // namespace antichain::cuda
