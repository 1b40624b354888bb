// .npy, NumPy's format for one array.
#pragma once

#include "antichain/data/byte_source.h"
#include "antichain/tensor/tensor.h"

namespace antichain::data {

/// Reads an array of version 1, 2 or 3, little-endian, in C or Fortran order. 16-bit integers,
/// which tensors do not have, become i32. Throws DataError when the file is not what it says.
Tensor read_npy(ByteSource& source);

}  // namespace antichain::data
