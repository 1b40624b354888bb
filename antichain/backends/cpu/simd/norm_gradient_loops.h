// What the sources compiled per level give to the gradients of norms: loops over two values of one
// shape, the gradient g and x (or y), packed.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/tensor/dtype.h"

namespace antichain::cpu {

/// The sums of g and of g * (x - shift).
struct GradientSums {
  double grad = 0, product = 0;
};
/// The numbers that go with a channel: out = a * g + b * (x - shift) + c.
struct GradientNumbers {
  double shift = 0, a = 0, b = 0, c = 0;
};

/// Likewise of many channels beside each other.
struct GradientColumns {
  const double *shift, *a, *b, *c;
};

/// The loops of one element type. Those over columns have a number per column, and rows of `count`
/// elements that are `stride` apart.
struct NormGradientLoops {
  void (*sum_row)(const void* g, const void* x, std::int64_t count, double shift,
                  GradientSums& sums);
  void (*sum_columns)(const void* g, const void* x, std::int64_t rows, std::int64_t stride,
                      std::int64_t count, const double* shifts, double* grads, double* products);
  void (*change_row)(const void* g, const void* x, void* out, std::int64_t count,
                     const GradientNumbers& numbers);
  void (*change_columns)(const void* g, const void* x, void* out, std::int64_t rows,
                         std::int64_t stride, std::int64_t count, const GradientColumns& numbers);
  // out = y * (g - sum of g * y) of each packed row
  void (*softmax_rows)(const void* g, const void* y, void* out, std::int64_t rows,
                       std::int64_t count);
};

/// Returns the loops for a float type.
template <SimdLevel>
const NormGradientLoops& norm_gradient_loops(DType dtype);

}  // namespace antichain::cpu
