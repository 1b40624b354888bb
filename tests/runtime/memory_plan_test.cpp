#include "antichain/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "antichain/runtime/memory_packers.h"
#include "antichain/tensor/buffer.h"

namespace antichain::memory_plan_test {

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

TEST(MemoryPlan, FindsWhatTheOrderOfTimeDoesNot) {
  // The first value leaves a gap that is too small for the last one.
  const std::vector<Lifetime> values = {{64, 0, 0}, {64, 0, 2}, {128, 1, 2}};
  EXPECT_EQ(pack_forward(values).bytes, 256U);
  EXPECT_EQ(plan_memory(values).bytes, live_bytes_bound(values));
  // Likewise at the beginning of the run.
  const std::vector<Lifetime> mirrored = {{64, 0, 2}, {128, 0, 1}, {64, 2, 2}, {64, 2, 2}};
  EXPECT_EQ(plan_memory(mirrored).bytes, live_bytes_bound(mirrored));
}

// What a forward pass keeps is let go in the opposite order, with temporaries of other sizes in
// between.
TEST(MemoryPlan, ForwardAndBackwardNeedTheBound) {
  std::vector<Lifetime> values;
  constexpr std::size_t kLayers = 50;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    values.push_back({64 * (1 + layer % 7), 2 * layer, 4 * kLayers - 2 * layer});
    values.push_back({64 * (3 + layer % 5), 2 * layer + 1, 2 * layer + 2});
  }
  const MemoryPlan plan = plan_memory(values);
  expect_valid(values, plan);
  EXPECT_LE(static_cast<double>(plan.bytes), 1.01 * static_cast<double>(live_bytes_bound(values)));
}

std::vector<Lifetime> random_lifetimes(std::mt19937& random, std::size_t count, std::size_t largest,
                                       std::size_t longest) {
  std::vector<Lifetime> values;
  std::size_t step = 0;
  for (std::size_t i = 0; i < count; ++i) {
    step += random() % 3;
    values.push_back({random() % largest, step, step + random() % longest});
  }
  return values;
}

TEST(MemoryPlan, NoWayOfPackingLetsValuesOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Lifetime> values = random_lifetimes(random, random() % 40, 1000, 10);
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    for (const MemoryPlan& plan :
         {pack_forward(values), pack_backward(values), *PriorityPacker(values, 10000).pack(order),
          plan_memory(values)}) {
      expect_valid(values, plan);
      EXPECT_GE(plan.bytes, live_bytes_bound(values));
    }
    EXPECT_LE(plan_memory(values).bytes,
              std::min(pack_forward(values).bytes, pack_backward(values).bytes));
  }
}

// In some order the lowest place for each value is the best plan: that of its offsets.
std::size_t best_of_all_orders(const std::vector<Lifetime>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t best = std::numeric_limits<std::size_t>::max();
  do {
    best = std::min(best, PriorityPacker(values, 10000).pack(order)->bytes);
  } while (std::ranges::next_permutation(order).found);
  return best;
}

TEST(MemoryPlan, IsSeldomLargerThanTheBestPlan) {
  std::mt19937 random(3);
  constexpr int kRounds = 200;
  int best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Lifetime> values = random_lifetimes(random, 7, 640, 5);
    const std::size_t planned = plan_memory(values).bytes, smallest = best_of_all_orders(values);
    EXPECT_LE(static_cast<double>(planned), 1.2 * static_cast<double>(smallest));
    best += planned == smallest ? 1 : 0;
  }
  EXPECT_GE(best, kRounds * 98 / 100);
}

TEST(MemoryPlan, APackerWithoutBudgetGivesUp) {
  const std::vector<Lifetime> values = {{64, 0, 1}, {64, 0, 1}, {64, 0, 1}};
  const std::vector<std::size_t> order = {0, 1, 2};
  EXPECT_EQ(PriorityPacker(values, 3).pack(order)->bytes, 192U);
  EXPECT_FALSE(PriorityPacker(values, 2).pack(order).has_value());
}

TEST(MemoryPlan, OfVeryManyValues) {
  std::mt19937 random(11);
  for (std::size_t longest : {std::size_t{10}, std::size_t{100'000}}) {
    const std::vector<Lifetime> values = random_lifetimes(random, 100'000, 100'000, longest);
    const MemoryPlan plan = plan_memory(values);
    EXPECT_GE(plan.bytes, live_bytes_bound(values));
  }
}

}  // namespace antichain::memory_plan_test
