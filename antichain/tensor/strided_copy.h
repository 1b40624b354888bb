// The one loop that moves elements between two memory layouts.
#pragma once

#include "antichain/tensor/tensor.h"

namespace antichain {

/// Copies `from` into the memory of `to`: host tensors of one dtype and shape that do not overlap.
void strided_copy(const Tensor& to, const Tensor& from);

}  // namespace antichain
