// Reductions dealt to blocks: every element to one of them, and enough blocks where there is enough
// to do.
#include "antichain/backends/cuda/rows/block_split.h"

#include <gtest/gtest.h>

namespace antichain::cuda::block_split_test {

void expect_covers(const BlockSplit& split, std::int64_t outputs, std::int64_t count) {
  EXPECT_EQ(split.across * split.along, BlockSplit::kThreads);
  EXPECT_EQ(split.along & (split.along - 1), 0);
  EXPECT_GE(split.groups(outputs) * split.across, outputs);
  EXPECT_GE(split.parts * split.length, count);
  if (split.parts > 1) {
    EXPECT_LT((split.parts - 1) * split.length, count);
  }
}

TEST(BlockSplit, CoversEveryElementOnce) {
  for (const std::int64_t outputs : {1, 2, 10, 31, 33, 512, 4096, 100'003}) {
    for (const std::int64_t count : {0, 1, 2, 7, 64, 129, 1000, 65'537, 1'000'000}) {
      SCOPED_TRACE(std::to_string(outputs) + " of " + std::to_string(count));
      const BlockSplit columns = split_columns(outputs, count);
      expect_covers(columns, outputs, count);
      // The columns of a run, 8 at most, are joined by the threads of one block.
      EXPECT_TRUE(columns.parts == 1 || columns.across * 8 <= BlockSplit::kThreads);
      for (const std::int64_t width : {1, 2, 8}) {
        const BlockSplit lines = split_lines(outputs, count * width, width);
        expect_covers(lines, outputs, count * width);
        EXPECT_EQ(lines.length % width, 0);
      }
    }
  }
}

TEST(BlockSplit, HasManyBlocksForLongSums) {
  EXPECT_GE(split_lines(1, 10'000'000, 1).parts, 500);
  const BlockSplit bias = split_columns(512, 65'536);  // of a batch
  EXPECT_GE(bias.groups(512) * bias.parts, 256);
  EXPECT_EQ(bias.across, 32);
  EXPECT_EQ(split_lines(100'000, 1000, 4).parts, 1);
  EXPECT_GE(split_rows(1, 10'000'000, 512), 256);
  EXPECT_EQ(split_rows(1000, 5000, 512), 1);
  EXPECT_EQ(split_rows(0, 0, 32), 1);
}

// Where one block per output is soon done, nobody waits for another.
TEST(BlockSplit, HasOneBlockForShortSums) {
  EXPECT_EQ(split_lines(1, 128, 4).parts, 1);
  EXPECT_LE(split_lines(1, 128, 4).along, 32);  // lanes of one warp
  EXPECT_EQ(split_columns(512, 128).parts, 1);
  EXPECT_EQ(split_columns(10, 128).parts, 1);
}

}  // namespace antichain::cuda::block_split_test
