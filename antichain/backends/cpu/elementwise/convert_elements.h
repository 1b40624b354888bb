// Conversion between element types, for libraries that lack some of them.
#pragma once

#include "antichain/tensor/tensor.h"

namespace antichain::cpu {

/// Writes the elements of `from` to `to`, converted; both are packed and of one size.
void convert_elements(const Tensor& from, const Tensor& to);
/// Does so for `count` packed elements, in the calling thread.
void convert_elements(const void* from, DType from_type, void* to, DType to_type,
                      std::int64_t count);

}  // namespace antichain::cpu
