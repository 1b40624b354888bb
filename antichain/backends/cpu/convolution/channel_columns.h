// Sums per channel of values [rows, channels], whose channels lie side by side: each task adds up
// some rows of some channels, then the sums of the rows are added in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "antichain/backends/cpu/simd/norm_gradient_loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/backends/cpu/threads/work_blocks.h"

namespace antichain::cpu {

/// What a task works on: rows from `part`, channels from `first`, at `offset` bytes from the start.
struct ColumnTask {
  std::int64_t part, rows, first, count, offset;
};

class ChannelColumns {
 public:
  ChannelColumns(std::int64_t rows, std::int64_t channels, std::size_t element_bytes);

  std::int64_t rows() const { return rows_.size; }
  std::int64_t channels() const { return columns_.size; }
  /// Calls f for every task, in parallel.
  template <class F>
  void for_each_task(F f) const {
    parallel_tasks(rows_.parts() * columns_.parts(), [&](std::int64_t task) {
      const std::int64_t part = task / columns_.parts(), block = task % columns_.parts();
      const std::int64_t first = columns_.first(block);
      f(ColumnTask{part, rows_.length_of(part), first, columns_.length_of(block),
                   (rows_.first(part) * channels() + first) * element_bytes_});
    });
  }
  /// Sets sums[c] to the sum of g and sums[channels + c] to that of g * (x - shift).
  void sum(const NormGradientLoops& loops, const void* g, const void* x, const double* shifts,
           double* sums);

 private:
  Cut rows_, columns_;
  std::int64_t element_bytes_;
  std::vector<double> partial_;  // [parts of the rows, 2, channels]
};

}  // namespace antichain::cpu
