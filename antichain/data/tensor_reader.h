// Tensors from a source, believing nothing about their size that has not been read.
#pragma once

#include <cstddef>
#include <vector>

#include "antichain/data/byte_source.h"
#include "antichain/tensor/tensor.h"

namespace antichain::data {

/// Reads `bytes` bytes; memory grows with what is there, so that a size that is a lie costs little.
std::vector<std::byte> read_bytes(ByteSource& source, std::size_t bytes, const char* what);
/// Reads packed elements in the order of this machine. Throws DataError when the source ends before
/// the last one or when the shape is impossible.
Tensor read_tensor(ByteSource& source, DType dtype, const Shape& shape);

}  // namespace antichain::data
