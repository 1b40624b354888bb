// The promise of the recipe `spirals`: it learns, whatever the seed, with either engine.
#include <gtest/gtest.h>

#include "recipes/registry.h"

namespace antichain {
namespace {

constexpr double kPromised = 0.97;

double test_accuracy(std::int64_t seed, std::string_view engine) {
  const Recipe& recipe = find_recipe("spirals");
  RecipeContext context = recipe.context();
  context.seed = seed;
  context.settings.set("engine", engine);
  return recipe.run(context).metric("test_accuracy");
}

class SpiralsAccuracy : public testing::TestWithParam<std::int64_t> {};

TEST_P(SpiralsAccuracy, IsReachedByBackprop) {
  EXPECT_GE(test_accuracy(GetParam(), "backprop"), kPromised);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpiralsAccuracy, testing::Range<std::int64_t>(0, 5));

TEST(SpiralsByForwardMode, ReachesTheAccuracyToo) {
  EXPECT_GE(test_accuracy(0, "forward"), kPromised);
}

}  // namespace
}  // namespace antichain
