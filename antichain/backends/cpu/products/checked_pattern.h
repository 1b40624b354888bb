// Patterns of sparse matrices, as kernels get them.
#pragma once

#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/graph/kernel_context.h"

namespace antichain::cpu {

/// Throws DataError when the pattern at inputs `input` and `input + 1` is broken.
template <class Index>
void check_pattern(const KernelContext& context, int input, const Index* columns,
                   const Index* starts, std::int64_t num_columns) {
  const std::int64_t stored = context.in(input).numel();
  const std::int64_t rows = context.in(input + 1).numel() - 1;
  require<DataError>(starts[0] == 0 && starts[rows] == stored,
                     "{}: row_starts must go from 0 to the number of stored elements, {}, "
                     "but it goes from {} to {}",
                     context.where, stored, starts[0], starts[rows]);
  for (std::int64_t row = 1; row <= rows; ++row) {
    require<DataError>(starts[row - 1] <= starts[row],
                       "{}: row_starts must not decrease, but {} follows {} at position {}",
                       context.where, starts[row], starts[row - 1], row);
  }
  parallel_ranges(stored, 1 << 16, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      require<DataError>(columns[i] >= 0 && columns[i] < num_columns,
                         "{}: stored element {} is in column {}, outside [0, {})", context.where, i,
                         columns[i], num_columns);
    }
  });
}

}  // namespace antichain::cpu
