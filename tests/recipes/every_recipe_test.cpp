// Every recipe runs a few steps and has the gradients that back-propagation in float64 has.
#include <gtest/gtest.h>

#include <algorithm>

#include "recipes/gradient_check.h"
#include "recipes/recipe_run.h"
#include "recipes/registry.h"
#include "tests/recipes/recipe_data.h"

namespace antichain {
namespace {

class EveryRecipe : public testing::TestWithParam<std::string> {
 protected:
  RecipeContext small_context() const {
    RecipeContext context = find_recipe(GetParam()).context();
    context.data_folder = test_data_folder();
    if (context.settings.integer("batch") > 16) {
      context.settings.set("batch", "16");
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

TEST_P(EveryRecipe, HasTheRightGradients) {
  if (const std::string reason = missing_data(GetParam()); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const GradientCheck check = check_gradients(find_recipe(GetParam()), small_context());
  EXPECT_LT(check.max_relative_error(), 1e-3);
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

}  // namespace
}  // namespace antichain
