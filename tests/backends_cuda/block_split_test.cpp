// Reductions dealt to blocks: every element to one of them, and enough blocks where there is enough
// to do.
#include "antichain/backends/cuda/block_split.h"

#include <gtest/gtest.h>

namespace antichain::cuda {
namespace {

TEST(BlockSplit, CoversEveryElementOnce) {
  for (const std::int64_t outputs : {1, 2, 10, 31, 33, 512, 4096, 100'003}) {
    for (const std::int64_t count : {0, 1, 2, 7, 64, 129, 1000, 65'537, 1'000'000}) {
      for (const bool columns : {false, true}) {
        SCOPED_TRACE(std::to_string(outputs) + " of " + std::to_string(count));
        const BlockSplit split = split_reduction(outputs, count, columns);
        EXPECT_EQ(split.across * split.along, BlockSplit::kThreads);
        EXPECT_EQ(split.along & (split.along - 1), 0);
        EXPECT_GE(split.groups(outputs) * split.across, outputs);
        EXPECT_GE(split.parts * split.length, count);
        if (split.parts > 1) {
          EXPECT_LT((split.parts - 1) * split.length, count);
        }
      }
    }
  }
}

TEST(BlockSplit, HasManyBlocksForLongSums) {
  EXPECT_GE(split_reduction(1, 10'000'000, false).parts, 512);
  const BlockSplit bias = split_reduction(512, 65'536, true);  // of a batch
  EXPECT_GE(bias.groups(512) * bias.parts, 256);
  EXPECT_EQ(bias.across, 32);
  EXPECT_EQ(split_reduction(100'000, 1000, false).parts, 1);
  EXPECT_EQ(split_reduction(1, 100, false).parts, 1);
  EXPECT_GE(split_rows(1, 10'000'000, 1024), 128);
  EXPECT_EQ(split_rows(1000, 5000, 1024), 1);
  EXPECT_EQ(split_rows(0, 0, 32), 1);
}

}  // namespace
}  // namespace antichain::cuda
