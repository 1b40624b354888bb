// Levels: which are there, and that each computes.
#include <gtest/gtest.h>

#include <vector>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/backends/cpu/simd/loops.h"

namespace antichain::cpu::simd_level_test {

TEST(SimdLevel, NamesAreDistinctAndTheBaselineIsEverywhere) {
  std::vector<std::string_view> names;
  for_each_simd_level([&](auto level) { names.push_back(name(level)); });
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.back(), "baseline");
  EXPECT_TRUE(cpu_supports(SimdLevel::baseline).yes);
}

TEST(SimdLevel, ARefusalNamesTheLevel) {
  for_each_simd_level([](auto level) {
    if (const Support support = cpu_supports(level); !support.yes) {
      EXPECT_EQ(support.reason, "this CPU lacks " + std::string(name(level)) + " instructions");
    }
  });
}

TEST(SimdLevel, EveryLevelTheCpuHasAdds) {
  for_each_simd_level([](auto level) {
    if (!cpu_supports(level).yes) {
      return;
    }
    const LoopRow* row = binary_loops<level>().find("add");
    ASSERT_NE(row, nullptr);
    std::vector<float> a, b, sum(37);
    for (int i = 0; i < 37; ++i) {
      a.push_back(static_cast<float>(i));
      b.push_back(100);
    }
    const void* const in[] = {a.data(), b.data()};
    row->loops[static_cast<int>(f32)](in, sum.data(), 37);
    for (int i = 0; i < 37; ++i) {
      EXPECT_EQ(sum[static_cast<std::size_t>(i)], static_cast<float>(100 + i)) << name(level);
    }
  });
}

}  // namespace antichain::cpu::simd_level_test
