// How reference kernels compute: every float as double, every integer as int64. One rounding at the
// end makes them the oracle for kernels that compute in the element type itself.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "antichain/graph/kernel_context.h"
#include "antichain/tensor/tensor.h"

namespace antichain {

/// Calls `f` with a zero of the type to compute in: double for floats, int64 for integers and bool.
template <class F>
void visit_compute(DType dtype, F&& f) {
  if (is_float(dtype)) {
    f(double{});
  } else {
    f(std::int64_t{});
  }
}

/// The type in which elements of type T are computed, as above.
template <class T>
using Compute = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

/// Returns the elements in row-major order as C (double or int64).
template <class C>
std::vector<C> load(const Tensor& tensor) {
  return tensor.to_vector<C>();
}

/// Writes elements in row-major order, converted to the tensor's (packed) element type as `cast`
/// does.
template <class C>
void store(const std::vector<C>& values, const Tensor& tensor) {
  visit_dtype(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* out = tensor.data<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      out[i] = convert<T>(values[i]);
    }
  });
}

/// Splits a packed shape at an axis: index = (outer * size + position) * inner + i.
struct AxisSplit {
  std::int64_t outer = 1, size = 1, inner = 1;
  AxisSplit(const Shape& shape, int axis) : size(shape[static_cast<std::size_t>(axis)]) {
    for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
      (i < axis ? outer : inner) *= i == axis ? 1 : shape[static_cast<std::size_t>(i)];
    }
  }
};

}  // namespace antichain
