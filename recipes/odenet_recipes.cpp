// Residual networks as explicit Euler steps of a differential equation u' = tanh(W(t) u + b(t)).
#include "antichain/data/synthetic.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

constexpr OptionKind kInteger = OptionKind::integer, kNumber = OptionKind::number;

std::vector<RecipeOption> odenet_options(const std::string& width, const std::string& layers,
                                         const std::string& time) {
  return {{"width", kInteger, width, "channels of the residual layers", 1, 4096},
          {"layers", kInteger, layers, "residual layers", 1, 1e6},
          {"time", kNumber, time, "end of the time interval; a layer is a step of time / layers",
           1e-3, 1e3}};
}

Objective build_odenet(const ModelContext& context, std::int64_t inputs, std::int64_t classes) {
  const RecipeSettings& settings = context.settings;
  const std::int64_t layers = settings.integer("layers");
  const Var x = context.input("x", {"batch", inputs});
  const Var y = context.graph.input("y", i64, {"batch"});
  const Var opened = tanh(nn::linear(x, settings.integer("width"), {.name = "opening"}));
  const Var state = nn::residual(opened, layers,
                                 {.step = settings.number("time") / static_cast<double>(layers),
                                  .engine = context.engine})
                        .last;
  const Var logits = nn::linear(state, classes, {.name = "closing"});
  return {.losses = nn::cross_entropy(logits, y), .hits = nn::is_correct(logits, y)};
}

}  // namespace

Recipe peaks_odenet_recipe() {
  return {.name = "peaks-odenet",
          .summary = "a deep residual network finds the level bands of MATLAB's peaks function",
          .options = with_training_options(
              odenet_options("8", "32", "5"),
              {.epochs = "400", .batch = "100", .lr = "0.01", .schedule = "cosine"}),
          .prepare =
              [](const RecipeContext& context) {
                data::Splits data = data::peaks({.seed = context.seed});
                data.test = std::move(data.validation);
                data.validation = nullptr;
                const std::int64_t classes = data.num_classes;
                return Task{.data = std::move(data), .model = [classes](const ModelContext& model) {
                              return build_odenet(model, 2, classes);
                            }};
              },
          .engine_for_chain = true};
}

}  // namespace antichain
