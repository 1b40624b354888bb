// Values for tensors of any size.
#pragma once

#include <cmath>

#include "antichain/tensor/tensor.h"

namespace antichain {

/// Returns values of a sine that begins anew after some thousands, so that a float can count them.
inline Tensor long_wave(const Shape& shape, DType dtype = f32) {
  Tensor result = Tensor::empty(f32, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data<float>()[i] = std::sin(0.37F * static_cast<float>(i % 10'007) + 0.2F);
  }
  return result.cast(dtype);
}

}  // namespace antichain
