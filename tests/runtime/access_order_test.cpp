// The order of steps that touch the same memory.
#include "antichain/runtime/access_order.h"

#include <gtest/gtest.h>

#include <random>

namespace antichain::access_order_test {

using Steps = std::vector<std::size_t>;

TEST(AccessOrder, ReadersWaitForTheWriterAndTheNextWriterForThem) {
  AccessOrder order;
  order.begin_step();
  order.write({100, 200});
  EXPECT_EQ(order.needs(), Steps());
  for (int reader = 1; reader <= 2; ++reader) {
    order.begin_step();
    order.read({150, 160});
    EXPECT_EQ(order.needs(), Steps{0});
  }
  order.begin_step();
  order.write({155, 300});
  EXPECT_EQ(order.needs(), (Steps{1, 2}));  // step 0 is waited for by both
  order.begin_step();
  order.read({200, 201});
  order.write({0, 10});
  EXPECT_EQ(order.needs(), Steps{3});
  order.begin_step();
  order.read({100, 155});
  EXPECT_EQ(order.needs(), Steps{0});
}

TEST(AccessOrder, NothingIsTouchedByEmptyRanges) {
  AccessOrder order;
  order.begin_step();
  order.write({100, 100});
  order.begin_step();
  order.write(all_memory());
  EXPECT_EQ(order.needs(), Steps());
  order.begin_step();
  order.read({7, 8});
  EXPECT_EQ(order.needs(), Steps{1});
}

TEST(AccessOrder, AStepDoesNotWaitForItself) {
  AccessOrder order;
  order.begin_step();
  order.read({0, 8});
  order.write({4, 12});
  order.read({0, 12});
  order.wait_for(0);
  EXPECT_EQ(order.needs(), Steps());
}

struct Access {
  MemoryRange range;
  bool writes;
};

bool conflict(const std::vector<Access>& a, const std::vector<Access>& b) {
  for (const Access& one : a) {
    for (const Access& other : b) {
      if ((one.writes || other.writes) && one.range.first < other.range.last &&
          other.range.first < one.range.last) {
        return true;
      }
    }
  }
  return false;
}

// Of any two steps that touch the same bytes, one of them by writing, the later one is behind the
// earlier one; and nobody waits for a step without such a reason.
TEST(AccessOrder, AgreesWithComparingAllPairs) {
  std::mt19937 random(1);
  const auto draw = [&](std::uintptr_t limit) {
    return std::uniform_int_distribution<std::uintptr_t>(0, limit)(random);
  };
  constexpr std::size_t kSteps = 120;
  for (int round = 0; round < 20; ++round) {
    AccessOrder order;
    std::vector<std::vector<Access>> steps;
    std::vector<std::vector<bool>> behind;  // whom a step is behind, directly or not
    for (std::size_t n = 0; n < kSteps; ++n) {
      order.begin_step();
      std::vector<Access> accesses;
      for (std::uintptr_t i = 0; i <= draw(3); ++i) {
        const std::uintptr_t first = draw(400);
        accesses.push_back({{first, first + 1 + draw(30)}, draw(2) == 0});
        accesses.back().writes ? order.write(accesses.back().range)
                               : order.read(accesses.back().range);
      }
      behind.emplace_back(kSteps, false);
      for (const std::size_t needed : order.needs()) {
        EXPECT_TRUE(conflict(steps[needed], accesses));
        behind[n][needed] = true;
        for (std::size_t m = 0; m < kSteps; ++m) {
          behind[n][m] = behind[n][m] || behind[needed][m];
        }
      }
      for (std::size_t m = 0; m < n; ++m) {
        EXPECT_TRUE(behind[n][m] || !conflict(steps[m], accesses)) << m << " and " << n;
      }
      steps.push_back(std::move(accesses));
    }
  }
}

}  // namespace antichain::access_order_test
