// Recipes reach in 16 bits what they reach in 32, on data that is always there.
#include <gtest/gtest.h>

#include <algorithm>

#include "recipes/recipe_run.h"
#include "recipes/registry.h"

namespace antichain {
namespace {

struct ShortRun {
  std::string recipe;
  std::vector<std::pair<std::string, std::string>> settings;  // that make it short
  double accuracy;                                            // that it reaches all the same
};

class SixteenBits : public testing::TestWithParam<ShortRun> {};

double accuracy_of(const ShortRun& shortened, const std::string& precision) {
  const Recipe& recipe = find_recipe(shortened.recipe);
  RecipeContext context = recipe.context();
  context.settings.set("precision", precision);
  for (const auto& [name, value] : shortened.settings) {
    context.settings.set(name, value);
  }
  RecipeRun run(recipe, context);
  return run.summarize(run.train({})).test_accuracy;
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
                    ShortRun{
                        "bitstream-rnn",
                        {{"epochs", "2"}, {"samples", "4000"}, {"length", "20"}, {"lr", "0.003"}},
                        0.3}),
    [](const auto& instance) {
      std::string name = instance.param.recipe;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace antichain
