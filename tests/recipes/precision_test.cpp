// Recipes reach in 16 bits what they reach in 32, on data that is always there.
#include <gtest/gtest.h>

#include <algorithm>

#include "recipes/recipe_run.h"
#include "recipes/registry.h"

namespace antichain::precision_test {

struct ShortRun {
  std::string recipe;
  std::vector<std::pair<std::string, std::string>> settings;  // that make it short
  double accuracy;                                            // that it reaches all the same
};

class SixteenBits : public testing::TestWithParam<ShortRun> {};

RecipeRun make_run(const ShortRun& shortened, const std::string& precision) {
  const Recipe& recipe = find_recipe(shortened.recipe);
  RecipeContext context = recipe.context();
  context.settings.set("precision", precision);
  for (const auto& [name, value] : shortened.settings) {
    context.settings.set(name, value);
  }
  return RecipeRun(recipe, context);
}

double accuracy_of(const ShortRun& shortened, const std::string& precision) {
  RecipeRun run = make_run(shortened, precision);
  return run.summarize(run.train({})).test_accuracy;
}

std::vector<double> first_losses(const ShortRun& shortened, const std::string& precision) {
  std::vector<double> losses;
  make_run(shortened, precision).train({.max_steps = 20, .progress = [&](const TrainProgress& now) {
                                          losses.push_back(now.loss);
                                        }});
  return losses;
}

// Roundings grow from step to step: a factor of ten or so in twenty steps, of 1/256 and 1/2048.
TEST_P(SixteenBits, TakeTheFirstStepsOfThirtyTwo) {
  const std::vector<double> expected = first_losses(GetParam(), "fp32");
  ASSERT_EQ(expected.size(), 20U);
  for (const auto& [precision, tolerance] : {std::pair("bf16", 0.015), std::pair("fp16", 0.005)}) {
    const std::vector<double> losses = first_losses(GetParam(), precision);
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], expected[i], tolerance * expected[i]) << precision << ", step " << i;
    }
    EXPECT_NE(losses, expected) << precision;
  }
}

TEST_P(SixteenBits, AreAsGoodAsThirtyTwo) {
  const double expected = accuracy_of(GetParam(), "fp32");
  EXPECT_GE(expected, GetParam().accuracy);
  for (const char* precision : {"bf16", "fp16"}) {
    EXPECT_NEAR(accuracy_of(GetParam(), precision), expected, 0.02) << precision;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, SixteenBits,
    testing::Values(ShortRun{"spirals", {{"epochs", "100"}}, 0.95},
                    ShortRun{"peaks-odenet", {{"epochs", "60"}}, 0.9},
                    ShortRun{"conv-chain", {{"depth", "8"}}, 0.95},
                    // Of 20 bits, whoever knows all probabilities tells 47.5 % right.
                    ShortRun{
                        "bitstream-rnn",
                        {{"epochs", "10"}, {"samples", "8000"}, {"length", "20"}, {"lr", "0.003"}},
                        0.45}),
    [](const auto& instance) {
      std::string name = instance.param.recipe;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace antichain::precision_test
