// How reductions are dealt to blocks of threads.
//
// Sizes alone decide, never the GPU: so do the order of adding and the bits.
#pragma once

#include <cstdint>
#include <memory>

#include "antichain/backends/cuda/core/device_context.h"

namespace antichain::cuda {

/// Says how `outputs` results of `count` elements each are computed. A block has a power of two of
/// threads `along` the elements of each of `across` results, or of `across` runs of results;
/// `parts` blocks share the elements of their results, each taking `length` of them.
struct BlockSplit {
  static constexpr std::int64_t kThreads = 512;  // across * along

  std::int64_t across, along, parts, length;

  /// Returns how many groups of blocks there are; each has `parts` of them.
  std::int64_t groups(std::int64_t outputs) const { return (outputs + across - 1) / across; }
};
/// Splits a reduction whose outputs lie side by side (columns).
BlockSplit split_columns(std::int64_t outputs, std::int64_t count);
/// Splits one whose elements do, and are read in runs of `width`, which divides the count.
BlockSplit split_lines(std::int64_t outputs, std::int64_t count, std::int64_t width);

/// Returns over how many blocks of `threads` each of some rows is dealt.
std::int64_t split_rows(std::int64_t rows, std::int64_t length, std::int64_t threads);

/// Where the blocks of a group leave what they have found, 8 bytes a result, and count how many of
/// them are done.
class PartialResults {
 public:
  PartialResults(const Context& context, std::int64_t results, std::int64_t groups);

  const void* results() const { return results_->data(); }
  const void* counters() const { return counters_->data(); }

 private:
  std::shared_ptr<Buffer> results_, counters_;
};

}  // namespace antichain::cuda
