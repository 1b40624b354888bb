#include "antichain/backends/cuda/block_split.h"

#include <algorithm>
#include <bit>

#include "antichain/backends/cuda/cuda_error.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kWantedBlocks = 1024;  // several for each multiprocessor of a large GPU
constexpr std::int64_t kFewestElements = 8;   // of a thread; fewer do not pay for another block
constexpr std::int64_t kWarp = 32;

std::int64_t power_of_two(std::int64_t least) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(least, 1))));
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

BlockSplit split_reduction(std::int64_t outputs, std::int64_t count, bool columns) {
  constexpr std::int64_t kThreads = BlockSplit::kThreads;
  BlockSplit split{.across = 1, .along = 1, .parts = 1, .length = count};
  if (columns) {
    split.along = std::min(kThreads / std::min(kWarp, power_of_two(outputs)), power_of_two(count));
  } else {
    split.along = std::min(kThreads, power_of_two(divided_up(count, kFewestElements)));
  }
  split.across = kThreads / split.along;
  const std::int64_t wanted = kWantedBlocks / std::max<std::int64_t>(split.groups(outputs), 1);
  const std::int64_t worth = count / (split.along * kFewestElements);
  if (const std::int64_t parts = std::min(wanted, worth); parts > 1) {
    split.length = divided_up(count, parts);
    split.parts = divided_up(count, split.length);
  }
  return split;
}

std::int64_t split_rows(std::int64_t rows, std::int64_t length, std::int64_t threads) {
  const std::int64_t wanted =
      kWantedBlocks * BlockSplit::kThreads / (threads * std::max<std::int64_t>(rows, 1));
  return std::max<std::int64_t>(std::min(wanted, length / (threads * kFewestElements)), 1);
}

PartialResults::PartialResults(const Context& context, std::int64_t results, std::int64_t groups)
    : results_(DeviceContext::allocate(context, static_cast<std::size_t>(results) * 8)),
      counters_(
          DeviceContext::allocate(context, static_cast<std::size_t>(groups) * sizeof(unsigned))) {
  check(cudaMemsetAsync(counters_->data(), 0, counters_->bytes(), context->stream()),
        "preparing a reduction");
}

}  // namespace antichain::cuda
