// Random numbers: the functions of antichain/base/random_functions.h, on the GPU.
#pragma once

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain::cuda {

enum class Draw { uniform, normal, bernoulli, bits };

void register_random(KernelTable& kernels, const Context& context);

/// Returns the kernel that draws elements of a type.
std::string draw_text(Draw draw, DType dtype);
/// Returns the kernel that derives a key.
std::string fold_in_text();

}  // namespace antichain::cuda
