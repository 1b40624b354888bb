// Mean and variance, as the references of the norms compute them.
#pragma once

#include <cstdint>

namespace antichain {

struct Moments {
  double mean = 0, variance = 0;
};

/// Returns those of at(0) to at(count - 1).
template <class At>
Moments moments(std::int64_t count, At at) {
  Moments result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.mean += at(i) / static_cast<double>(count);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    result.variance += (at(i) - result.mean) * (at(i) - result.mean) / static_cast<double>(count);
  }
  return result;
}

}  // namespace antichain
