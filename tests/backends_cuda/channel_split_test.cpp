// How sums of channels are dealt to blocks: what device/channel_sums.cuh takes for granted.
#include <gtest/gtest.h>

#include <bit>

#include "antichain/backends/cuda/rows/channel_kernels.h"

namespace antichain::cuda::channel_split_test {

constexpr std::int64_t kThreads = 256, kWarp = 32, kMostChannels = 64;

bool is_power_of_two(std::int64_t n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }

void expect_fits(const ChannelSplit& split, std::int64_t elements, DType dtype) {
  EXPECT_EQ(split.across * split.along, kThreads);
  EXPECT_TRUE(is_power_of_two(split.across));
  EXPECT_TRUE(is_power_of_two(split.run));
  EXPECT_LE(split.run * static_cast<std::int64_t>(size_of(dtype)), 16);
  EXPECT_LE(split.block_channels(), kMostChannels);
  if (split.columns) {
    EXPECT_LE(split.across, kWarp) << "a warp has all columns of a row";
    EXPECT_EQ(split.channels % split.run, 0);
    EXPECT_GE(split.block_channels(), 2) << "two sums each make 16 bytes of floats";
    EXPECT_EQ(split.count, elements);
  } else {
    EXPECT_GE(split.along, kWarp) << "a warp is of one channel";
    EXPECT_EQ(split.count * split.run, elements);
  }
  EXPECT_GE(split.groups() * split.block_channels(), split.channels);
  EXPECT_GE(split.parts * split.length, split.count);
  EXPECT_TRUE(split.parts == 1 || (split.parts - 1) * split.length < split.count)
      << "no block is without work";
}

TEST(ChannelSplit, FitsTheKernel) {
  for (const DType dtype : {f32, f64, bf16, f16}) {
    for (const std::int64_t outer : {0, 1, 2, 37, 4096, 262'144}) {
      for (const std::int64_t channels : {0, 1, 2, 3, 17, 64, 96, 512, 2050}) {
        for (const std::int64_t inner : {1, 2, 7, 49, 1024}) {
          SCOPED_TRACE(testing::Message()
                       << name(dtype) << " [" << outer << ", " << channels << ", " << inner << "]");
          expect_fits(ChannelSplit(outer, channels, inner, dtype), outer * inner, dtype);
        }
      }
    }
  }
}

TEST(ChannelSplit, ReadsWholeLinesAndKeepsTheGpuBusy) {
  const ChannelSplit large(262'144, 64, 1, bf16), narrow(4096, 512, 1, bf16);
  EXPECT_EQ(large.run, 8);
  EXPECT_EQ(large.across, 8) << "threads that read 128 bytes together";
  EXPECT_EQ(large.groups() * large.parts, 256);
  EXPECT_EQ(narrow.groups() * narrow.parts, 128);
  EXPECT_EQ(ChannelSplit(5, 3, 1, f32).parts, 1);
}

}  // namespace antichain::cuda::channel_split_test
