// Numbers for tests of engines.
#pragma once

#include <random>
#include <vector>

#include "antichain/tensor/tensor.h"

namespace antichain {

/// Returns f64 values between -1 and 1 that a seed determines.
inline Tensor random_values(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  for (double& value : values) {
    value = draw(generator);
  }
  return Tensor::of<double>(shape, values);
}

}  // namespace antichain
