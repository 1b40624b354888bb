// Short runs of the recipe `spirals`: every option does something, and what it says.
#include "recipes/spirals.h"

#include <gtest/gtest.h>

#include "antichain/base/error.h"
#include "tests/tensor/expect_error.h"

namespace antichain {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

RecipeContext context_with(const Settings& settings, std::int64_t seed = 0) {
  RecipeContext context = spirals_recipe().context();
  context.seed = seed;
  context.settings.set("epochs", "2");
  context.settings.set("hidden", "6");
  context.settings.set("batch", "250");
  for (const auto& setting : settings) {
    context.settings.set(setting.first, setting.second);
  }
  return context;
}

RecipeResult run(const Settings& settings, std::int64_t seed = 0) {
  RecipeContext context = context_with(settings, seed);
  return spirals_recipe().run(context);
}

TEST(Spirals, SameSeedSameLoss) {
  EXPECT_EQ(run({}).metric("train_loss"), run({}).metric("train_loss"));
  EXPECT_NE(run({}).metric("train_loss"), run({}, 1).metric("train_loss"));
}

TEST(Spirals, EveryOptionChangesTheRun) {
  const double usual = run({}).metric("train_loss");
  for (const Settings::value_type& setting : Settings{{"epochs", "3"},
                                                      {"batch", "100"},
                                                      {"hidden", "7"},
                                                      {"arms", "2"},
                                                      {"noise", "0.1"},
                                                      {"lr", "0.01"},
                                                      {"momentum", "0"}}) {
    EXPECT_NE(run({setting}).metric("train_loss"), usual) << setting.first;
  }
}

TEST(Spirals, CountsStepsAndWeights) {
  const RecipeResult result = run({{"batch", "300"}, {"arms", "2"}});  // 300 + 300 + 300 + 100
  EXPECT_EQ(result.metric("steps"), 8);
  EXPECT_EQ(result.metric("parameters"), 2 * 6 + 6 + 6 * 6 + 6 + 6 * 2 + 2);
  EXPECT_GT(result.metric("seconds"), 0);
  EXPECT_GT(result.metric("samples_per_second"), 0);
}

TEST(Spirals, ReportsEveryStep) {
  RecipeContext context = context_with({{"batch", "300"}});
  std::vector<RecipeProgress> seen;
  context.progress = [&](const RecipeProgress& progress) { seen.push_back(progress); };
  spirals_recipe().run(context);
  ASSERT_EQ(seen.size(), 8U);
  EXPECT_EQ(seen.front().step, 1);
  EXPECT_EQ(seen.front().steps, 8);
  EXPECT_EQ(seen.front().epoch, 1);
  EXPECT_EQ(seen.back().epoch, 2);
  EXPECT_EQ(seen.back().epochs, 2);
  EXPECT_EQ(seen.back().samples, 2000);
}

// Both engines are exact; the sums of f32 products differ in their order.
TEST(Spirals, EnginesAgree) {
  const double backprop = run({{"engine", "backprop"}}).metric("train_loss");
  EXPECT_NEAR(run({{"engine", "forward"}}).metric("train_loss"), backprop, 1e-4 * backprop);
}

TEST(Spirals, ForwardModeIsSmallUnlessToldOtherwise) {
  RecipeContext context = spirals_recipe().context();
  context.settings.set("engine", "forward");
  context.settings.set("epochs", "1");
  context.settings.set("batch", "1000");
  spirals_recipe().run(context);
  EXPECT_EQ(context.settings.integer("hidden"), 12);
  EXPECT_EQ(context.settings.integer("epochs"), 1);
}

TEST(Spirals, RefusesWhatItCannotDo) {
  expect_error<InvalidArgument>(
      "there is no gradient engine 'bakcprop'; this session has: backprop, forward", [] {
        run({{"engine", "bakcprop"}});
      });
  RecipeContext context = context_with({});
  context.device = "gpu";
  EXPECT_THROW(spirals_recipe().run(context), InvalidArgument);
  EXPECT_THROW(run({{"lr", "1e20"}}), DataError);
}

}  // namespace
}  // namespace antichain
