// The order in which samples are visited.
#pragma once

#include <cstdint>
#include <vector>

#include "antichain/base/random_functions.h"

namespace antichain::data {

/// Says what draws are for. Streams of different purposes share no bits, neither with each other
/// nor with what a graph draws under the same seed.
enum class Purpose : std::int64_t { points = 1, order = 2, augmentation = 3 };

/// Returns the random stream of a seed for a purpose.
inline RandomStream random_stream(std::int64_t seed, Purpose purpose, std::int64_t stream = 0) {
  return folded_in({.seed = seed, .stream = stream}, static_cast<std::int64_t>(purpose));
}

/// Returns 0 … size - 1 in an order drawn for (seed, stream).
std::vector<std::int64_t> shuffled(std::int64_t size, std::int64_t seed, std::int64_t stream);

}  // namespace antichain::data
