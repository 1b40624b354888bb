// What recipes promise, as far as it is cheap enough to be held at every change.
#include <gtest/gtest.h>

#include "recipes/recipe_run.h"
#include "recipes/registry.h"
#include "tests/recipes/recipe_data.h"

namespace antichain::goals_test {

double test_accuracy(const std::string& name, std::int64_t seed,
                     const std::string& engine = "backprop") {
  const Recipe& recipe = find_recipe(name);
  RecipeContext context = recipe.context();
  context.seed = seed;
  context.data_folder = test_data_folder();
  context.settings.set("engine", engine);
  RecipeRun run(recipe, context);
  return run.summarize(run.train({})).test_accuracy;
}

double mean_test_accuracy(const std::string& name, std::int64_t seeds) {
  double total = 0;
  for (std::int64_t seed = 0; seed < seeds; ++seed) {
    total += test_accuracy(name, seed);
  }
  return total / static_cast<double>(seeds);
}

class Spirals : public testing::TestWithParam<std::int64_t> {};
TEST_P(Spirals, AreToldApartWhateverTheSeed) {
  EXPECT_GE(test_accuracy("spirals", GetParam()), 0.97);
}
INSTANTIATE_TEST_SUITE_P(Seeds, Spirals, testing::Range<std::int64_t>(0, 5));

TEST(SpiralsByForwardMode, ReachTheAccuracyToo) {
  EXPECT_GE(test_accuracy("spirals", 0, "forward"), 0.97);
}

TEST(Cora, ReachesItsGoal) {
  if (const std::string reason = missing_data("cora-gcn"); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  EXPECT_GE(mean_test_accuracy("cora-gcn", 20), 0.815);
}

TEST(Peaks, ReachTheirGoal) { EXPECT_GE(mean_test_accuracy("peaks-odenet", 3), 0.98); }

}  // namespace antichain::goals_test
