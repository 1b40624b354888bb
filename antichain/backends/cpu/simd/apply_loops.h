// What the sources compiled per level give to the row-wise kernels: loops that change every element
// by numbers that belong to its row or its column.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/tensor/dtype.h"

namespace antichain::cpu {

/// The numbers that go with a row or a column.
struct ApplyNumbers {
  const double *a, *b, *c;
};

/// Changes a matrix of `rows` rows, `stride` elements apart (in the result as well), of `count`
/// packed elements. `numbers` has one entry per row or per column; `scale` and `bias` are for loops
/// that take one more of each per column. The result may be the memory of x.
using ApplyLoop = void (*)(const void* x, void* out, std::int64_t rows, std::int64_t stride,
                           std::int64_t count, const ApplyNumbers& numbers, const double* scale,
                           const double* bias);

/// Softmax of each of such rows, of at most kLongestSoftmax elements.
using SoftmaxLoop = void (*)(const void* x, void* out, std::int64_t rows, std::int64_t stride,
                             std::int64_t count);
inline constexpr std::int64_t kLongestSoftmax = 4096;  // as float it fits the L1 cache

/// The loops of one element type.
struct ApplyLoops {
  SoftmaxLoop softmax;
  ApplyLoop exponential_by_row, exponential_by_column;  // exp(x - a) * b
  ApplyLoop affine_by_row, affine_by_column;            // (x - a) * b + c
  ApplyLoop normalize_by_row;                           // (x - a) * b * scale + bias
};

/// Returns the loops for a float type.
template <SimdLevel>
const ApplyLoops& apply_loops(DType dtype);

}  // namespace antichain::cpu
