#include "antichain/ops/control_flow/revolve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace antichain::revolve_test {

constexpr std::int64_t kReverse = ReplayAction::kReverse;

// The least number of evaluations for every number of steps and slots, by trying every place for
// the next stored states: t(n, s) = min over m of m + t(n - m, s - 1) + t(m, s).
std::vector<std::vector<std::int64_t>> least_evaluations(std::int64_t steps, std::int64_t slots) {
  std::vector<std::vector<std::int64_t>> least(
      static_cast<std::size_t>(steps + 1),
      std::vector<std::int64_t>(static_cast<std::size_t>(slots + 1)));
  for (std::size_t s = 1; s <= static_cast<std::size_t>(slots); ++s) {
    for (std::size_t n = 2; n <= static_cast<std::size_t>(steps); ++n) {
      // With one slot: from the beginning, every time.
      auto best = static_cast<std::int64_t>(n * (n - 1) / 2);
      for (std::size_t m = 1; s > 1 && m < n; ++m) {
        best = std::min(best, static_cast<std::int64_t>(m) + least[n - m][s - 1] + least[m][s]);
      }
      least[n][s] = best;
    }
  }
  return least;
}

struct Replayed {
  std::int64_t total = 0, most = 0, slots = 0;  // evaluations, of one step, slots ever filled
};

// Does what the schedule says, checking that the states it asks for are there.
Replayed follow(std::int64_t steps, std::int64_t slots) {
  Replayed result;
  std::map<std::int64_t, std::int64_t> holds = {{0, 0}};  // slot -> step
  std::vector<std::int64_t> evaluations(static_cast<std::size_t>(steps));
  std::int64_t next_reversed = steps - 1;
  Revolve schedule(steps, slots);
  while (const auto action = schedule.next()) {
    EXPECT_EQ(holds.at(action->source), action->from);
    for (std::int64_t n = action->from; n < action->to; ++n) {
      ++evaluations[static_cast<std::size_t>(n)];
      ++result.total;
    }
    if (action->target == kReverse) {
      EXPECT_EQ(action->to, next_reversed--);
    } else {
      EXPECT_GT(action->target, 0);
      EXPECT_LT(action->target, slots);
      holds[action->target] = action->to;
    }
    result.slots = std::max(result.slots, static_cast<std::int64_t>(holds.size()));
  }
  EXPECT_EQ(next_reversed, -1);
  for (std::int64_t count : evaluations) {
    result.most = std::max(result.most, count);
  }
  return result;
}

TEST(Revolve, IsOptimalForAllSmallChains) {
  constexpr std::int64_t kSteps = 60, kSlots = 12;
  const auto least = least_evaluations(kSteps, kSlots);
  for (std::int64_t steps = 0; steps <= kSteps; ++steps) {
    for (std::int64_t slots = 1; slots <= kSlots; ++slots) {
      const Replayed found = follow(steps, slots);
      const auto best = least[static_cast<std::size_t>(steps)][static_cast<std::size_t>(slots)];
      ASSERT_EQ(found.total, best) << steps << " steps, " << slots << " slots";
      ASSERT_EQ(total_evaluations(steps, slots), best);
      ASSERT_EQ(evaluations_per_step(steps, slots), found.most);
      ASSERT_LE(found.slots, slots);
    }
  }
}

TEST(Revolve, ReachesAsManyStepsAsBinomialsSay) {
  EXPECT_EQ(reversible_steps(3, 2), 10);
  EXPECT_EQ(reversible_steps(2, 3), 10);
  EXPECT_EQ(reversible_steps(1, 9), 10);
  EXPECT_EQ(reversible_steps(7, 0), 1);
  EXPECT_EQ(reversible_steps(0, 7), 1);
  EXPECT_EQ(reversible_steps(30, 30), 118264581564861424);  // C(60, 30)
  EXPECT_EQ(reversible_steps(100, 100), std::numeric_limits<std::int64_t>::max());
  for (std::int64_t slots = 1; slots < 6; ++slots) {
    for (std::int64_t evaluations = 1; evaluations < 6; ++evaluations) {
      const std::int64_t steps = reversible_steps(slots, evaluations);
      EXPECT_EQ(evaluations_per_step(steps, slots), evaluations);
      EXPECT_EQ(evaluations_per_step(steps + 1, slots), evaluations + 1);
      EXPECT_EQ(slots_needed(steps, evaluations), slots);
      EXPECT_EQ(slots_needed(steps + 1, evaluations), slots + 1);
    }
  }
}

// Ten thousand steps: the floor that other methods are compared with; a slot of 141 is the one for
// the states that are stepped.
TEST(Revolve, TenThousandSteps) {
  EXPECT_EQ(slots_needed(10'000, 1), 9'999);
  EXPECT_EQ(slots_needed(10'000, 2), 140);
  EXPECT_EQ(slots_needed(10'000, 3), 38);
  EXPECT_EQ(slots_needed(10'000, 4), 20);
  for (const std::int64_t slots : {140, 38, 20}) {
    const Replayed found = follow(10'000, slots);
    EXPECT_EQ(found.total, total_evaluations(10'000, slots));
    EXPECT_EQ(found.most, evaluations_per_step(10'000, slots));
    EXPECT_EQ(found.slots, slots);
  }
}

TEST(Revolve, PlansAMillionSteps) {
  for (const std::int64_t slots : {1, 2, 3, 20, 181, 1413, 999'999}) {
    EXPECT_GT(total_evaluations(1'000'000, slots), 0);
    EXPECT_LT(first_stored(1'000'000, slots).size(), static_cast<std::size_t>(slots));
  }
}

TEST(Revolve, StartsAgain) {
  Revolve schedule(7, 2);
  const auto first = schedule.next();
  while (schedule.next()) {
  }
  schedule.restart();
  EXPECT_EQ(schedule.next()->to, first->to);
}

TEST(Revolve, SaysWhatIsStoredWhenTheLastStepIsReversed) {
  EXPECT_EQ(first_stored(10, 1), std::vector<std::int64_t>());
  EXPECT_EQ(first_stored(3, 5), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(first_stored(10, 3), (std::vector<std::int64_t>{4, 7}));  // C(4, 1), then C(3, 1)
  EXPECT_EQ(first_stored(0, 2), std::vector<std::int64_t>());
}

}  // namespace antichain::revolve_test
