#include "antichain/backends/cuda/rows/block_split.h"

#include <algorithm>
#include <bit>

#include "antichain/backends/cuda/core/cuda_error.h"
#include "antichain/backends/cuda/core/grid_sizes.h"

namespace antichain::cuda {

namespace {

// Several for each multiprocessor of a large GPU. One block joins what all have found of columns:
// more of them would make that long.
constexpr std::int64_t kWantedBlocks = 512, kWantedOfColumns = 256;
// Elements of a thread: fewer do not pay for another block, which must be waited for.
constexpr std::int64_t kWorthABlock = 32, kWorthABlockOfColumns = 16;
// Elements of a thread of a block: fewer do not pay for another thread to join. Where there is
// little to do all threads of the GPU have time.
constexpr std::int64_t kFewElements = 8, kManyElements = 16, kLittle = 1 << 20;

// Deals the elements to as many blocks as pay.
void deal(BlockSplit& split, std::int64_t most, std::int64_t worth, std::int64_t width) {
  const std::int64_t count = split.length;
  if (const std::int64_t parts = std::min(most, worth); parts > 1) {
    split.length = divided_up(divided_up(count, parts), width) * width;
    split.parts = divided_up(count, split.length);
  }
}

}  // namespace

BlockSplit split_columns(std::int64_t outputs, std::int64_t count) {
  BlockSplit split{
      .across = std::min(kWarp, power_of_two(outputs)), .along = 1, .parts = 1, .length = count};
  split.along = std::min(BlockSplit::kThreads / split.across, power_of_two(count));
  split.across = BlockSplit::kThreads / split.along;
  deal(split, kWantedOfColumns / std::max<std::int64_t>(split.groups(outputs), 1),
       count / (split.along * kWorthABlockOfColumns), 1);
  return split;
}

BlockSplit split_lines(std::int64_t outputs, std::int64_t count, std::int64_t width) {
  const bool little = count == 0 || outputs <= kLittle / count;
  const std::int64_t least = std::max(little ? kFewElements : kManyElements, width);
  BlockSplit split{.across = 1,
                   .along = std::min(BlockSplit::kThreads, power_of_two(divided_up(count, least))),
                   .parts = 1,
                   .length = count};
  split.across = BlockSplit::kThreads / split.along;
  deal(split, kWantedBlocks / std::max<std::int64_t>(split.groups(outputs), 1),
       count / (split.along * kWorthABlock), width);
  return split;
}

std::int64_t split_rows(std::int64_t rows, std::int64_t length, std::int64_t threads) {
  const std::int64_t wanted =
      kWantedBlocks * BlockSplit::kThreads / (threads * std::max<std::int64_t>(rows, 1));
  return std::max<std::int64_t>(std::min(wanted, length / (threads * kWorthABlock)), 1);
}

PartialResults::PartialResults(const Context& context, std::int64_t results, std::int64_t groups)
    : results_(DeviceContext::allocate(context, static_cast<std::size_t>(results) * 8)),
      counters_(
          DeviceContext::allocate(context, static_cast<std::size_t>(groups) * sizeof(unsigned))) {
  check(cudaMemsetAsync(counters_->data(), 0, counters_->bytes(), context->stream()),
        "preparing a reduction");
}

}  // namespace antichain::cuda
