#include "antichain/backends/cpu/indexing/indices.h"

namespace antichain::cpu {

void check_indices(const KernelContext& context, int input, std::int64_t size) {
  constexpr std::int64_t kGrain = 1 << 16;  // indices per task
  const Tensor& indices = context.in(input);
  visit_indices(indices, [&](const auto* values) {
    parallel_ranges(indices.numel(), kGrain, [&](std::int64_t first, std::int64_t last) {
      // All of them at once; which one it is matters only when there is one.
      bool inside = true;
      for (std::int64_t i = first; i < last; ++i) {
        inside &= (values[i] >= 0) & (values[i] < size);
      }
      for (std::int64_t i = first; i < last && !inside; ++i) {
        require<DataError>(values[i] >= 0 && values[i] < size,
                           "{}: index {} is outside an axis of size {}", context.where, values[i],
                           size);
      }
    });
  });
}

void IndexBuckets::fill(const Tensor& indices) {
  std::fill(starts_.begin(), starts_.end(), 0);
  visit_indices(indices, [&](const auto* values) {
    const auto count = static_cast<std::int64_t>(positions_.size());
    for (std::int64_t k = 0; k < count; ++k) {
      ++starts_[static_cast<std::size_t>(values[k]) + 1];
    }
    for (std::size_t i = 1; i < starts_.size(); ++i) {
      starts_[i] += starts_[i - 1];
    }
    // Moves every start to the end of its bucket on the way.
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t& next = starts_[static_cast<std::size_t>(values[k])];
      positions_[static_cast<std::size_t>(next++)] = k;
    }
  });
}

}  // namespace antichain::cpu
