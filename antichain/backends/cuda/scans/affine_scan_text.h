// The kernels of affine scans as text.
#pragma once

#include <cstdint>
#include <string>

#include "antichain/tensor/dtype.h"

namespace antichain::cuda {

/// Returns the kernels for diagonals, for matrices of up to 32 x 32 numbers, and for all others.
std::string column_scan_text(DType dtype);
std::string narrow_scan_text(DType dtype, std::int64_t size, bool transposed);
std::string wide_scan_text(DType dtype, bool transposed);

}  // namespace antichain::cuda
