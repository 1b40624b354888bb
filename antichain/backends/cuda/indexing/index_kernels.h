// Looking up by indices.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

// gather, take_along, one_hot, and one_hot of indices that must name an element
enum class Lookup { slices, elements, marks, checked_marks };

void register_indexing(KernelTable& kernels, const Context& context);

/// Returns the kernel for these element types.
std::string lookup_text(Lookup lookup, DType dtype, DType index);

/// Returns the text of the function "look", which looks whether indices name elements.
std::string look_text(DType index);
/// Plans that for an op whose result is empty, so that nothing else would look.
KernelFunction plan_look(const KernelContext& context, const Context& device, int index_input,
                         std::int64_t size);

}  // namespace antichain::cuda
