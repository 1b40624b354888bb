// A perceptron with one wide hidden layer of which a part is active (Spring and Shrivastava, 2017).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "antichain/data/image_dataset.h"
#include "antichain/nn/wide.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "recipes/many_labels.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

constexpr std::int64_t kPixels = 28 * 28, kDigits = 10;

// He et al., 2015, equation 10, for a weight [units, features].
Var he_by_unit(Graph& graph, DType dtype, const Dims& shape) {
  const auto features = static_cast<double>(shape[1].range().min);
  return nn::normal(0, std::sqrt(2 / features))(graph, dtype, shape);
}

Objective build_mnist_hashed(const ModelContext& context) {
  const Settings& settings = context.settings;
  const std::int64_t hidden = settings.integer("hidden");
  Graph& graph = context.graph;
  Var x = context.input("x", {"batch", 1, 28, 28});
  x = reshape(x, {x.dim(0), kPixels});
  const Var y = graph.input("y", i64, {"batch"});
  const nn::LabelSets truth{.labels = y, .row_starts = iota(graph, i64, x.dim(0) + 1)};
  const nn::WideOptions options{.name = "mlp", .weight = he_by_unit, .training = context.training};
  std::vector<std::int64_t> widths = {hidden, kDigits};
  if (settings.text("output").ends_with("dropout")) {  // between the layers, which are two then
    nn::WideOptions first = options;
    first.name = "hidden";
    x = relu(nn::wide_mlp(x, {hidden}, first));
    x = with_active_units(context, x, settings.number("active"));
    widths = {kDigits};
  }
  if (context.training) {
    return {.losses = nn::wide_losses(x, widths, truth, options)};
  }
  const Var logits = nn::wide_mlp(x, widths, options);
  return {.losses = nn::multi_label_softmax(logits, truth), .hits = nn::is_correct(logits, y)};
}

// K and L of the paper. The engine hashes both layers, if any: of the digits all are active.
void settle_active(Settings& settings) {
  const double units = settings.number("active") * static_cast<double>(settings.integer("hidden"));
  settle_output(settings, fmt::format("mlp=hashing:active={},K=6,L=100,when=always",
                                      std::max<std::int64_t>(kDigits, std::llround(units))));
}

}  // namespace

Recipe mnist_hashed_recipe() {
  return {.name = "mnist-hashed",
          .summary = "a perceptron on handwritten digits of whose hidden units a part is active",
          .options = with_training_options(
              {{"hidden", kInteger, "1000", "width of the hidden layer", 1, 1e6},
               output_option({"dense", "dropout", "adaptive-dropout", "hashed"},
                             "which hidden units are active: all (dense), any (dropout), those "
                             "with large values more often (adaptive-dropout), those that the "
                             "engine hashing finds (hashed)"),
               {"active", kNumber, "0.25", "part of the hidden units that is active, but for dense",
                0.01, 1}},
              {.epochs = "25", .lr = "0.001"}),
          .prepare =
              [](const RecipeContext& context) {
                return Task{.data = data::mnist(context.data_folder, {}),
                            .model = build_mnist_hashed};
              },
          .settle = settle_active};
}

}  // namespace antichain
