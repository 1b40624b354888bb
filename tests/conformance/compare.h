// Comparing tensors of any element type.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "antichain/tensor/tensor.h"

namespace antichain::conformance {

/// Returns the distance from 1 to the next number of a type; 0 for integers.
inline double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 0x1p-52;
    case DType::f32: return 0x1p-23;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return 0;
  }
}

/// Expects two tensors of one shape to agree within `tolerance`, relative to the largest element
/// where that is above 1. Infinities and NaN must stand in the same places.
inline void expect_close(const Tensor& got, const Tensor& want, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
  double scale = 1;
  for (double value : b) {
    scale = std::isfinite(value) ? std::max(scale, std::abs(value)) : scale;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!same && !(std::abs(a[i] - b[i]) <= tolerance * scale)) {
      ADD_FAILURE() << what << ": element " << i << " is " << a[i] << ", expected " << b[i]
                    << " (tolerance " << tolerance * scale << ")";
      return;
    }
  }
}

}  // namespace antichain::conformance
