// Every recipe runs a few steps and has the gradients that back-propagation in float64 has.
#include <gtest/gtest.h>

#include <algorithm>

#include "recipes/gradient_check.h"
#include "recipes/recipe_run.h"
#include "recipes/registry.h"
#include "tests/recipes/recipe_data.h"

namespace antichain::every_recipe_test {

class EveryRecipe : public testing::TestWithParam<std::string> {
 protected:
  RecipeContext small_context() const {
    RecipeContext context = find_recipe(GetParam()).context();
    context.data_folder = data_for(GetParam());
    if (context.settings.integer("batch") > 16) {
      context.settings.set("batch", "16");
    }
    if (GetParam() == "xmc-planted") {
      context.settings.set("labels", "2000");
      context.settings.set("train", "500");
      context.settings.set("test", "100");
    }
    return context;
  }
};

TEST_P(EveryRecipe, TrainsAFewSteps) {
  if (const std::string reason = missing_data(GetParam()); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  RecipeRun run(find_recipe(GetParam()), small_context());
  const TrainResult result = run.train({.max_steps = 3});
  EXPECT_EQ(result.steps, 3);
  EXPECT_GT(result.train_loss, 0);
  EXPECT_LT(result.train_loss, 20);
  EXPECT_GE(result.scores.at("test").accuracy, 0);
}

TEST_P(EveryRecipe, LosesAboutTheSameInSixteenBits) {
  if (const std::string reason = missing_data(GetParam()); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const auto loss = [&](const std::string& precision) {
    RecipeContext context = small_context();
    context.settings.set("precision", precision);
    RecipeRun run(find_recipe(GetParam()), context);
    return run.train({.max_steps = 3}).train_loss;
  };
  const double expected = loss("fp32");
  for (const auto& [precision, tolerance] : {std::pair("bf16", 0.01), std::pair("fp16", 0.005)}) {
    EXPECT_NEAR(loss(precision), expected, tolerance * expected) << precision;
  }
}

// Level 3 rounds otherwise, at most: bits are the same where nothing is convolved.
TEST_P(EveryRecipe, LosesTheSameAtLevelThree) {
  if (const std::string reason = missing_data(GetParam()); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  double losses[2];
  for (const int level : {2, 3}) {
    RecipeContext context = small_context();
    context.compiler.level = level;
    RecipeRun run(find_recipe(GetParam()), context);
    losses[level - 2] = run.train({.max_steps = 3}).train_loss;
  }
  const bool convolves =
      GetParam().find("cnn") != std::string::npos || GetParam().find("conv") != std::string::npos;
  EXPECT_NEAR(losses[1], losses[0], convolves ? 1e-4 * losses[0] : 0);
}

TEST_P(EveryRecipe, HasTheRightGradients) {
  if (const std::string reason = missing_data(GetParam()); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const GradientCheck check = check_gradients(find_recipe(GetParam()), small_context());
  EXPECT_LT(check.max_relative_error(), 1e-3);
}

void expect_tight(const MemoryReport& report) {
  EXPECT_LE(report.ratio(), 1.05) << report.peak_bytes << " bytes, " << report.bound_bytes
                                  << " alive at once";
  for (const MemoryValue& value : report.values) {
    for (const MemoryReport& body : value.bodies) {
      expect_tight(body);
    }
  }
}

void expect_tight(const Executable& executable, const Feeds& feeds) {
  const MemoryReport report = executable.memory_report(feeds);
  expect_tight(report);
  EXPECT_EQ(report.peak_bytes, executable.memory_bytes());
}

TEST_P(EveryRecipe, TakesHardlyMoreMemoryThanIsAliveAtOnce) {
  if (const std::string reason = missing_data(GetParam()); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  RecipeContext context = find_recipe(GetParam()).context();
  context.data_folder = data_for(GetParam());
  RecipeRun run(find_recipe(GetParam()), context);
  expect_tight(run.step(), run.first_batch());
  data::Batches batches(run.task().data.test, {.batch = 100, .shuffle = false, .prefetch = 0});
  data::Batch batch;
  batches.start(0);
  ASSERT_TRUE(batches.next(batch));
  expect_tight(run.evaluation(), batch);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Recipe& recipe : recipes()) {
    all.push_back(recipe.name);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryRecipe, testing::ValuesIn(names()), [](const auto& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace antichain::every_recipe_test
