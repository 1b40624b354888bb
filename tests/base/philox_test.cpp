#include "antichain/base/philox.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace antichain::philox_test {

// Known answers of philox4x32-10 from Random123 (Salmon et al. 2011), file kat_vectors.
TEST(Philox, MatchesThePublishedKnownAnswers) {
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes}, {kOnes, kOnes, kOnes, kOnes}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsKnownAtCompileTime) { static_assert(philox({0, 0}, {0, 0, 0, 0})[0] == 0x6627e8d5); }

// A wrong round or a lost carry shows as bits that are set too often; 5 standard deviations are
// allowed.
TEST(Philox, EveryBitIsSetHalfOfTheTime) {
  constexpr int kBlocks = 10000;
  std::vector<int> set(128, 0);
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    const PhiloxBlock block = philox({17, 0}, {i, 0, 0, 0});
    for (std::size_t bit = 0; bit < set.size(); ++bit) {
      set[bit] += static_cast<int>((block[bit / 32] >> (bit % 32)) & 1);
    }
  }
  for (const int count : set) {
    EXPECT_NEAR(count, 0.5 * kBlocks, 5 * 50);  // standard deviation: sqrt(10000) / 2 = 50
  }
}

}  // namespace antichain::philox_test
