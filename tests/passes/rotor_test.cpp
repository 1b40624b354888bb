#include "antichain/passes/memory/rotor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace antichain::rotor_test {

using Kind = StageAction::Kind;

// Does what the actions say, checking that what they need has been computed, and returns how long
// it takes.
double follow(const std::vector<StageCost>& stages, const std::vector<StageAction>& actions) {
  double seconds = 0;
  std::vector<bool> output(stages.size()), kept(stages.size());
  std::size_t next_back = stages.size();
  for (const StageAction& action : actions) {
    const std::size_t k = action.stage;
    if (action.kind == Kind::backward) {
      EXPECT_EQ(k + 1, next_back--) << "stages come back from the last to the first, once each";
      EXPECT_TRUE(kept[k]);
      kept[k] = false;
      seconds += stages[k].backward;
      continue;
    }
    EXPECT_TRUE(k == 0 || output[k - 1]) << "stage " << k << " has no input";
    seconds += stages[k].forward;
    output[k] = true;
    kept[k] = action.kind == Kind::forward_keeping;
  }
  EXPECT_EQ(next_back, 0U);
  return seconds;
}

std::vector<StageCost> equal_stages(std::size_t count) {
  return std::vector<StageCost>(count, {.forward = 1, .backward = 2, .output = 100, .kept = 1000});
}

TEST(Rotor, KeepsEverythingWhereThatFits) {
  const std::vector<StageCost> stages = equal_stages(10);
  const Rotor rotor(stages);
  EXPECT_DOUBLE_EQ(rotor.seconds(rotor.levels()), 30);
  const std::vector<StageAction> actions = rotor.schedule(rotor.levels());
  ASSERT_EQ(actions.size(), 20U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(actions[i].kind, Kind::forward_keeping);
    EXPECT_EQ(actions[19 - i].kind, Kind::backward);
    EXPECT_EQ(actions[19 - i].stage, i);
  }
}

TEST(Rotor, IsFasterWithMoreMemoryAndAlwaysComplete) {
  std::vector<StageCost> stages;
  for (std::size_t i = 0; i < 23; ++i) {
    stages.push_back({.forward = 1.0 + static_cast<double>(i % 3),
                      .backward = 2,
                      .output = 50 + 10 * (i % 4),
                      .kept = 300 + 100 * (i % 5)});
  }
  const Rotor rotor(stages);
  double before = HUGE_VAL;
  ASSERT_LT(rotor.least_level(), rotor.levels());
  if (rotor.least_level() > 0) {
    EXPECT_TRUE(std::isinf(rotor.seconds(rotor.least_level() - 1)));
  }
  for (std::size_t level = rotor.least_level(); level <= rotor.levels(); level += 7) {
    EXPECT_NEAR(follow(stages, rotor.schedule(level)), rotor.seconds(level), 1e-3);
    EXPECT_LE(rotor.seconds(level), before);
    before = rotor.seconds(level);
  }
}

// With memory for one stage and a few outputs, every stage but the last runs a second time, and
// nothing a third: 10 + 9 forward, 10 backward.
TEST(Rotor, RunsEachStageTwiceWhereOutputsFit) {
  const Rotor rotor(equal_stages(10));
  const double total = 10 * 1000 + 200;
  const auto level = static_cast<std::size_t>((1000 + 9 * 100 + 300) / total * 2000);
  EXPECT_DOUBLE_EQ(rotor.seconds(level), 19 + 20);
}

TEST(Rotor, NoStagesNeedNothing) {
  const Rotor rotor({});
  EXPECT_EQ(rotor.seconds(0), 0);
  EXPECT_TRUE(rotor.schedule(0).empty());
}

TEST(Rotor, PlansManyStages) {
  const Rotor rotor(equal_stages(64));
  EXPECT_LT(rotor.least_level(), 200U);
}

}  // namespace antichain::rotor_test
