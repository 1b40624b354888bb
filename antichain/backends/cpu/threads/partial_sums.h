// Sums that several threads add up: each its own part, and then the parts in order.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/tensor/dtype.h"

namespace antichain::cpu {

/// Columns of a row that one thread adds up at once, on its stack.
inline constexpr std::int64_t kSummedColumns = 256;

/// Sets sums[i] to the sum of partial[n * size + i] over n, in order.
template <class T, class Sum>
void add_partial_sums(const T* partial, std::int64_t parts, std::int64_t size, Sum* sums) {
  constexpr std::int64_t kGrain = 1 << 13;  // elements per range
  parallel_ranges(size, kGrain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      T total = partial[i];
      for (std::int64_t n = 1; n < parts; ++n) {
        total += partial[n * size + i];
      }
      sums[i] = convert<Sum>(total);
    }
  });
}

}  // namespace antichain::cpu
