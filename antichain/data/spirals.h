// Points on the arms of a spiral: data that needs no download and no straight line can separate.
#pragma once

#include <cstdint>
#include <memory>

#include "antichain/data/dataset.h"

namespace antichain::data {

struct SpiralsOptions {
  std::int64_t arms = 2;
  double noise = 0.02;  // standard deviation of each coordinate; the spiral has radius 1
  std::int64_t points = 1000;
  std::int64_t seed = 0;
  std::int64_t stream = 0;  // other streams of one seed are independent of this one
};

/// Draws points "x" f32[points, 2] with the number of their arm "y" i64[points], evenly among the
/// arms. The same options give the same points everywhere.
std::shared_ptr<const TensorDataset> spirals(const SpiralsOptions& options);

}  // namespace antichain::data
