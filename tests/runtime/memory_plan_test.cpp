#include "antichain/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "antichain/tensor/buffer.h"

namespace antichain {
namespace {

// No two values that live at the same time overlap, and all lie inside.
void expect_valid(const std::vector<Lifetime>& lifetimes, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const std::size_t end = plan.offsets[i] + lifetimes[i].bytes;
    ASSERT_EQ(plan.offsets[i] % kHostAlignment, 0U);
    ASSERT_LE(end, plan.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool same_time =
          lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
      const bool apart =
          end <= plan.offsets[j] || plan.offsets[j] + lifetimes[j].bytes <= plan.offsets[i];
      ASSERT_TRUE(!same_time || apart || lifetimes[i].bytes == 0 || lifetimes[j].bytes == 0)
          << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, ValuesThatFollowEachOtherShareMemory) {
  const std::vector<Lifetime> chain = {{640, 0, 1}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}};
  const MemoryPlan plan = plan_memory(chain);
  expect_valid(chain, plan);
  EXPECT_EQ(plan.bytes, 2 * 640U);
  EXPECT_EQ(live_bytes_bound(chain), 2 * 640U);
}

TEST(MemoryPlan, NothingTakesNothing) {
  EXPECT_EQ(plan_memory({}).bytes, 0U);
  const std::vector<Lifetime> empty = {{0, 0, 5}, {0, 2, 3}};
  EXPECT_EQ(plan_memory(empty).bytes, 0U);
}

TEST(MemoryPlan, NeighbouringGapsBecomeOne) {
  const std::vector<Lifetime> values = {{64, 0, 0}, {64, 0, 1}, {64, 0, 1}, {192, 2, 2}};
  EXPECT_EQ(plan_memory(values).bytes, 192U);
}

TEST(MemoryPlan, RandomLifetimesNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> values;
    std::size_t step = 0;
    const std::size_t count = random() % 40;
    for (std::size_t i = 0; i < count; ++i) {
      step += random() % 3;
      values.push_back({random() % 1000, step, step + random() % 10});
    }
    const MemoryPlan plan = plan_memory(values);
    expect_valid(values, plan);
    EXPECT_GE(plan.bytes, live_bytes_bound(values));
  }
}

}  // namespace
}  // namespace antichain
