// Points on the arms of a spiral: data that needs no download and no straight line can separate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "antichain/tensor/tensor.h"

namespace antichain {

struct SpiralsOptions {
  std::int64_t arms = 2;
  double noise = 0.02;  // standard deviation of each coordinate; the spiral has radius 1
  std::int64_t points = 1000;
  std::int64_t seed = 0;
  std::int64_t stream = 0;  // other streams of one seed are independent of this one
};

/// Points with the number of the arm that each is on.
struct LabelledPoints {
  Tensor x;  // f32[points, 2]
  Tensor y;  // i64[points]

  std::int64_t size() const { return x.shape()[0]; }
  /// Copies the points with these numbers.
  LabelledPoints take(std::span<const std::int64_t> numbers) const;
};

/// Draws points, evenly among the arms. The same options give the same points everywhere.
LabelledPoints make_spirals(const SpiralsOptions& options);
/// Returns 0 … size - 1 in an order drawn for (seed, stream).
std::vector<std::int64_t> shuffled(std::int64_t size, std::int64_t seed, std::int64_t stream);

}  // namespace antichain
