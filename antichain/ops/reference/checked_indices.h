// How reference kernels read indices.
#pragma once

#include <vector>

#include "antichain/graph/kernel_context.h"

namespace antichain {

/// Returns the indices in row-major order; throws DataError when one is outside an axis of this
/// size.
inline std::vector<std::int64_t> checked_indices(const KernelContext& context, int input,
                                                 std::int64_t size) {
  std::vector<std::int64_t> indices = context.in(input).to_vector<std::int64_t>();
  for (const std::int64_t index : indices) {
    require<DataError>(index >= 0 && index < size, "{}: index {} is outside an axis of size {}",
                       context.where, index, size);
  }
  return indices;
}

/// Checks where rows start in a list of `count`: from 0 on, not decreasing, to its end. Throws
/// DataError otherwise.
inline void check_row_starts(const KernelContext& context, int input, std::int64_t count) {
  const Tensor& starts = context.in(input);
  const auto start = [&](std::int64_t row) {
    return starts.dtype() == DType::i32 ? std::int64_t{starts.data<std::int32_t>()[row]}
                                        : starts.data<std::int64_t>()[row];
  };
  const std::int64_t rows = starts.numel() - 1;
  require<DataError>(rows >= 0 && start(0) == 0 && start(rows) == count,
                     "{}: row_starts must go from 0 to the number of elements, {}", context.where,
                     count);
  for (std::int64_t row = 0; row < rows; ++row) {
    require<DataError>(start(row) <= start(row + 1),
                       "{}: row_starts must not decrease, but {} follows {}", context.where,
                       start(row + 1), start(row));
  }
}

}  // namespace antichain
