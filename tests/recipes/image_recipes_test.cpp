// What can be set of the recipes on small images, by a few steps on MNIST.
#include <gtest/gtest.h>

#include "recipes/recipe_run.h"
#include "recipes/registry.h"
#include "tests/recipes/recipe_data.h"

namespace antichain::image_recipes_test {

using Given = std::vector<std::pair<std::string, std::string>>;

class ImageRecipe : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = missing_data("mnist-mlp"); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }

  static RecipeRun run_with(const std::string& recipe, const Given& settings) {
    RecipeContext context = find_recipe(recipe).context();
    context.data_folder = data_for(recipe);
    for (const auto& [name, value] : settings) {
      context.settings.set(name, value);
    }
    return {find_recipe(recipe), context};
  }

  static double loss_of(const std::string& recipe, const Given& settings, std::int64_t steps) {
    RecipeRun run = run_with(recipe, settings);
    return run.train({.max_steps = steps}).scores.at("test").loss;
  }
};

TEST_F(ImageRecipe, HasOneHiddenLayerWhereTheSecondIsZeroWide) {
  EXPECT_EQ(run_with("mnist-mlp", {{"hidden_1", "50"}, {"hidden_2", "0"}}).num_parameters(),
            784 * 50 + 50 + 50 * 10 + 10);
}

TEST_F(ImageRecipe, EveryKindOfUnitLearns) {
  const Given small = {{"hidden_1", "50"}, {"hidden_2", "0"}, {"dropout", "0"}, {"lr", "0.01"}};
  const auto loss_with = [&](const std::string& units, const std::string& engine) {
    Given settings = small;
    settings.emplace_back("units", units);
    settings.emplace_back("engine", engine);
    return loss_of("mnist-mlp", settings, 60);
  };
  const double relu = loss_with("relu", "backprop"), sigmoid = loss_with("sigmoid", "backprop");
  const double threshold =
      loss_with("threshold", "likelihood:mode=layer,noise=laplace,sigma=1,copies=16");
  constexpr double kGuess = 2.3;  // ln 10
  EXPECT_LT(relu, 0.3 * kGuess);
  EXPECT_LT(sigmoid, 0.4 * kGuess);
  EXPECT_LT(threshold, 0.6 * kGuess);
  EXPECT_NE(relu, sigmoid);
}

TEST_F(ImageRecipe, ConvolutionsGoWithoutNorm) {
  const Given small = {{"channels", "2"}};
  Given without = small;
  without.emplace_back("norm", "none");
  // A norm scales and shifts every channel, which without it has a bias: two channels of two
  // layers, four of two more.
  EXPECT_EQ(run_with("mnist-cnn", small).num_parameters() -
                run_with("mnist-cnn", without).num_parameters(),
            2 + 2 + 4 + 4);
  EXPECT_LT(loss_of("mnist-cnn", without, 40), 2.3);
}

}  // namespace antichain::image_recipes_test
