#include "recipes/spirals.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "antichain/data/batches.h"
#include "antichain/data/spirals.h"
#include "antichain/nn/layers.h"
#include "antichain/ops/normalization.h"
#include "antichain/ops/reduce.h"
#include "antichain/ops/state_ops.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"

namespace antichain {

namespace {

constexpr std::int64_t kTrainPoints = 1000, kTestPoints = 1000;
constexpr std::int64_t kTrainStream = 0, kTestStream = 1;

std::vector<RecipeOption> spirals_options() {
  constexpr OptionKind kInteger = OptionKind::integer, kNumber = OptionKind::number;
  return {
      {"epochs", kInteger, "200", "passes over the training points (25 with engine=forward)", 1,
       1e6},
      {"batch", kInteger, "50", "points per step", 1, kTrainPoints},
      {"hidden", kInteger, "64", "width of the two hidden layers (12 with engine=forward)", 1,
       4096},
      {"arms", kInteger, "3", "arms of the spiral, which are the classes", 2, 8},
      {"noise", kNumber, "0.02", "standard deviation of a coordinate; the spiral has radius 1", 0,
       1},
      {"lr", kNumber, "0.1", "learning rate", 1e-9},
      {"momentum", kNumber, "0.9", "momentum of gradient descent", 0, 0.999},
      {"engine", OptionKind::text, "backprop",
       "who computes the gradients: see `antichain engines`"},
  };
}

// Forward mode runs the model once per weight and step, so it gets a model and a number of epochs
// that end in seconds.
void settle_fallbacks(RecipeSettings& settings) {
  if (settings.text("engine") == "forward") {
    settings.set_fallback("hidden", "12");
    settings.set_fallback("epochs", "25");
  }
}

struct Model {
  Var loss, accuracy;
};

Model build(Graph& graph, const RecipeSettings& settings) {
  const std::int64_t hidden = settings.integer("hidden"), arms = settings.integer("arms");
  const Var x = graph.input("x", f32, {"batch", 2}), y = graph.input("y", i64, {"batch"});
  const Var logits = nn::mlp(x, {hidden, hidden, arms}, {.weight = nn::he_normal});
  return {.loss = mean(cross_entropy(logits, y)),
          .accuracy = mean(cast(equal(argmax(logits, -1), y), f32))};
}

Executable compile_training(Session& session, const Model& model, const RecipeSettings& settings) {
  const std::vector<Var> updates =
      optim::sgd(model.loss, {.lr = settings.number("lr"),
                              .momentum = settings.number("momentum"),
                              .step = {.engine = settings.text("engine")}});
  return session.compile({model.loss}, {.updates = updates});
}

std::shared_ptr<const data::TensorDataset> draw(const RecipeContext& context, std::int64_t points,
                                                std::int64_t stream) {
  return data::spirals({.arms = context.settings.integer("arms"),
                        .noise = context.settings.number("noise"),
                        .points = points,
                        .seed = context.seed,
                        .stream = stream});
}

// Trains on every point once, in a new order, and returns the mean loss.
double train_epoch(const Executable& train, data::Batches& batches, const RecipeContext& context,
                   RecipeProgress& progress) {
  double total = 0;
  data::Batch batch;
  for (batches.start(progress.epoch); batches.next(batch);) {
    const std::int64_t count = batch.at("x").shape()[0];
    progress.loss = train(batch).item<double>();
    ++progress.step;
    progress.samples += count;
    require<DataError>(std::isfinite(progress.loss),
                       "the loss is {} after step {}; a smaller lr may help", progress.loss,
                       progress.step);
    total += progress.loss * static_cast<double>(count);
    context.progress(progress);
  }
  return total / static_cast<double>(batches.dataset().size());
}

double count_weights(Graph& graph) {
  std::int64_t count = 0;
  for (Var weight : parameters(graph)) {
    count += numel(weight.shape()).constant();
  }
  return static_cast<double>(count);
}

RecipeResult run_spirals(RecipeContext& context) {
  settle_fallbacks(context.settings);
  Session session({.device = context.device, .seed = context.seed, .logger = context.logger});
  session.engines().find(context.settings.text("engine"));  // first of all: it may be misspelt
  Graph graph = session.graph();
  const Model model = build(graph, context.settings);
  const Executable test = session.compile({model.accuracy});
  const Executable train = compile_training(session, model, context.settings);
  const auto test_points = draw(context, kTestPoints, kTestStream);
  // A thread would take longer to wake up than a few points take to copy.
  data::Batches batches(
      draw(context, kTrainPoints, kTrainStream),
      {.batch = context.settings.integer("batch"), .seed = context.seed, .prefetch = 0});

  RecipeProgress progress{.epochs = context.settings.integer("epochs"),
                          .accuracy = std::numeric_limits<double>::quiet_NaN()};
  progress.steps = progress.epochs * batches.batches_per_epoch();
  double train_loss = 0;
  const auto start = std::chrono::steady_clock::now();
  for (progress.epoch = 1; progress.epoch <= progress.epochs; ++progress.epoch) {
    train_loss = train_epoch(train, batches, context, progress);
    progress.accuracy = test(test_points->tensors()).item<double>();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {
      {{"train_loss", train_loss, MetricKind::plain},
       {"test_accuracy", progress.accuracy, MetricKind::fraction},
       {"parameters", count_weights(graph), MetricKind::count},
       {"steps", static_cast<double>(progress.step), MetricKind::count},
       {"seconds", seconds, MetricKind::seconds},
       {"samples_per_second", static_cast<double>(progress.samples) / seconds, MetricKind::count}}};
}

}  // namespace

Recipe spirals_recipe() {
  return {
      .name = "spirals",
      .summary = "a perceptron with two hidden layers learns to tell the arms of a spiral apart",
      .options = spirals_options(),
      .run = run_spirals};
}

}  // namespace antichain
