// Nested iteration: shallower nets come first, and deeper ones start from their weights.
#include "recipes/nested_iteration.h"

#include <gtest/gtest.h>

#include "antichain/ops/state/state_ops.h"
#include "recipes/recipe_run.h"
#include "recipes/registry.h"
#include "tests/base/temporary_folder.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nested_iteration_test {

RecipeContext peaks(const std::map<std::string, std::string>& settings) {
  RecipeContext context = find_recipe("peaks-odenet").context();
  context.settings.set("layers", "8");
  context.settings.set("epochs", "3");
  for (const auto& [name, value] : settings) {
    context.settings.set(name, value);
  }
  return context;
}

TEST(NestedIteration, RefinesLayers) {
  const Tensor layers = Tensor::of<float>({2, 2}, {1, 2, 5, 6});
  EXPECT_EQ(refined_layers(layers, false).to_vector<double>(),
            (std::vector<double>{1, 2, 1, 2, 5, 6, 5, 6}));
  EXPECT_EQ(refined_layers(layers, true).to_vector<double>(),
            (std::vector<double>{1, 2, 2, 3, 4, 5, 5, 6}));
  EXPECT_EQ(refined_layers(layers, true).dtype(), f32);
}

TEST(NestedIteration, HalvesTheDepthNetByNet) {
  const RecipeContext context = peaks({{"nested", "3"}, {"nested_epochs", "2"}});
  const Settings half = *settings_of_shallower_net(context.settings);
  const Settings quarter = *settings_of_shallower_net(half);
  EXPECT_EQ(half.integer("layers"), 4);
  EXPECT_EQ(quarter.integer("layers"), 2);
  EXPECT_EQ(quarter.integer("epochs"), 2);
  EXPECT_FALSE(settings_of_shallower_net(quarter).has_value());
  EXPECT_FALSE(settings_of_shallower_net(find_recipe("spirals").context().settings).has_value());
  expect_error<InvalidArgument>(
      "nested=3 needs a number of layers that is a multiple of 4, got 10", [] {
        RecipeRun(find_recipe("peaks-odenet"), peaks({{"nested", "3"}, {"layers", "10"}}));
      });
}

// One epoch after two of nets that are shallower is better than one from nothing.
TEST(NestedIteration, StartsFromTheShallowerNet) {
  const Recipe& recipe = find_recipe("peaks-odenet");
  const auto first_loss = [&](const char* nested, const char* refine) {
    RecipeRun run(recipe, peaks({{"nested", nested}, {"refine", refine}}));
    return run.train({}).history.at("train/loss").front().value;
  };
  const double from_nothing = first_loss("1", "constant");
  EXPECT_LT(first_loss("3", "constant"), 0.9 * from_nothing);
  EXPECT_LT(first_loss("3", "linear"), 0.9 * from_nothing);
}

TEST(NestedIteration, GoesOnInAnyOfTheNets) {
  const Recipe& recipe = find_recipe("peaks-odenet");
  const auto settings = std::map<std::string, std::string>{{"nested", "2"}};
  const auto weights = [](RecipeRun& run) {
    return run.session().states().get("residual.weight").to_vector<double>();
  };
  RecipeRun whole(recipe, peaks(settings));
  whole.train({});
  const TemporaryFolder folder;
  // The shallower net takes 150 steps, as does the deeper one: this stops in the first, then in the
  // second.
  for (const int stop_at : {40, 160}) {
    RecipeRun part(recipe, peaks(settings));
    int steps = stop_at == 40 ? 0 : 40;
    const TrainResult result =
        part.train({.folder = folder / "run", .resume = stop_at > 40, .stop = [&] {
                      return ++steps >= stop_at;
                    }});
    EXPECT_FALSE(result.finished);
  }
  RecipeRun last(recipe, peaks(settings));
  EXPECT_TRUE(last.train({.folder = folder / "run", .resume = true}).finished);
  EXPECT_EQ(weights(last), weights(whole));
}

}  // namespace antichain::nested_iteration_test
