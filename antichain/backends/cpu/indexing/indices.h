// Index inputs of kernels: checked on all threads, and sorted by what they name.
#pragma once

#include <vector>

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/graph/kernel_context.h"

namespace antichain::cpu {

/// Calls `f` with a pointer to the (packed) elements of an i32 or i64 tensor.
template <class F>
decltype(auto) visit_indices(const Tensor& indices, F&& f) {
  return indices.dtype() == i32 ? f(static_cast<const std::int32_t*>(indices.raw()))
                                : f(static_cast<const std::int64_t*>(indices.raw()));
}

/// Throws DataError for the first index that is outside an axis of this size.
void check_indices(const KernelContext& context, int input, std::int64_t size);

/// The positions of every index in a list of indices, in the order of the list.
class IndexBuckets {
 public:
  /// Allocates for `count` indices below `size`.
  IndexBuckets(std::int64_t count, std::int64_t size)
      : starts_(static_cast<std::size_t>(size) + 1), positions_(static_cast<std::size_t>(count)) {}

  /// Sorts indices that have been checked.
  void fill(const Tensor& indices);
  /// Returns where `index` stands in the list.
  std::span<const std::int64_t> positions(std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    const std::int64_t first = at == 0 ? 0 : starts_[at - 1];
    return {positions_.data() + first, static_cast<std::size_t>(starts_[at] - first)};
  }

 private:
  std::vector<std::int64_t> starts_;  // when filled: the end of every bucket
  std::vector<std::int64_t> positions_;
};

}  // namespace antichain::cpu
