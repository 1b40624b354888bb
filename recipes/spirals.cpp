#include "antichain/data/spirals.h"

#include <algorithm>

#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

constexpr std::int64_t kTrainPoints = 1000, kTestPoints = 1000;
constexpr const char* kForward = "forward";  // the engine
constexpr std::int64_t kTrainStream = 0, kTestStream = 1;

std::vector<OptionSpec> spirals_options() {
  return with_training_options(
      {
          {"hidden", kInteger, "64", "width of the two hidden layers (12 with engine=forward)", 1,
           4096},
          {"arms", kInteger, "3", "arms of the spiral, which are the classes", 2, 8},
          {"noise", kNumber, "0.02", "standard deviation of a coordinate; the spiral has radius 1",
           0, 1},
      },
      {.epochs = "200", .batch = "50", .optimiser = "sgd", .lr = "0.1"});
}

// Forward mode runs the model once per weight and step, so it gets a model and a number of epochs
// that end in seconds.
void settle_fallbacks(Settings& settings) {
  const std::vector<EnginePlan::Part> parts = EnginePlan::parse(settings.text("engine")).parts();
  if (std::ranges::count(parts, kForward, [](const auto& part) { return part.engine.name(); }) >
      0) {
    settings.set_fallback("hidden", "12");
    settings.set_fallback("epochs", "25");
  }
}

data::DatasetPtr draw(const RecipeContext& context, std::int64_t points, std::int64_t stream) {
  return data::spirals({.arms = context.settings.integer("arms"),
                        .noise = context.settings.number("noise"),
                        .points = points,
                        .seed = context.seed,
                        .stream = stream});
}

Objective build_spirals(const ModelContext& context) {
  const std::int64_t hidden = context.settings.integer("hidden");
  const std::int64_t arms = context.settings.integer("arms");
  const Var x = context.input("x", {"batch", 2});
  const Var y = context.graph.input("y", i64, {"batch"});
  const Var logits = nn::mlp(x, {hidden, hidden, arms}, {.weight = nn::he_normal});
  return {.losses = nn::cross_entropy(logits, y), .hits = nn::is_correct(logits, y)};
}

}  // namespace

Recipe spirals_recipe() {
  return {
      .name = "spirals",
      .summary = "a perceptron with two hidden layers learns to tell the arms of a spiral apart",
      .options = spirals_options(),
      .prepare =
          [](const RecipeContext& context) {
            return Task{.data = {.train = draw(context, kTrainPoints, kTrainStream),
                                 .test = draw(context, kTestPoints, kTestStream)},
                        .model = build_spirals};
          },
      .settle = settle_fallbacks};
}

}  // namespace antichain
