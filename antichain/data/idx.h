// IDX, the format of MNIST: four bytes of magic, big-endian sizes, big-endian elements.
#pragma once

#include "antichain/data/byte_source.h"
#include "antichain/tensor/tensor.h"

namespace antichain::data {

/// Reads one array of bytes, i32, f32 or f64; throws DataError when the file is not what it says.
Tensor read_idx(ByteSource& source);

}  // namespace antichain::data
