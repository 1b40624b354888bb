// Perceptrons and small convolutional networks on images of 28 x 28 grey pixels.
#include <fmt/format.h>

#include "antichain/data/augment.h"
#include "antichain/data/image_dataset.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/shape/shape_ops.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

constexpr std::int64_t kSide = 28, kClasses = 10;
constexpr std::int64_t kHidden = 128;  // units behind the convolutions

OptionSpec dropout_option(const std::string& fallback) {
  return {"dropout", kNumber, fallback, "part of the hidden values set to 0 in training", 0, 0.9};
}

Objective classify_logits(const ModelContext& context, Var logits) {
  const Var y = context.graph.input("y", i64, {"batch"});
  return {.losses = nn::cross_entropy(logits, y), .hits = nn::is_correct(logits, y)};
}

// What a unit makes of its sum. Threshold units have no slope: they are for engines that need none.
Var unit_of(Var sums, const std::string& units) {
  if (units == "threshold") {
    return cast(greater(sums, 0), sums.dtype());
  }
  return units == "sigmoid" ? sigmoid(sums) : relu(sums);
}

Objective build_mlp(const ModelContext& context) {
  const nn::DropoutOptions dropout{.rate = context.settings.number("dropout"),
                                   .training = context.training};
  Var x = context.input("x", {"batch", 1, kSide, kSide});
  x = reshape(x, {x.dim(0), kSide * kSide});
  for (const char* layer : {"hidden_1", "hidden_2"}) {
    const std::int64_t width = context.settings.integer(layer);
    if (width > 0) {
      x = unit_of(nn::linear(x, width, {.name = layer, .weight = nn::he_normal}),
                  context.settings.text("units"));
      x = nn::dropout(x, dropout);
    }
  }
  return classify_logits(context, nn::linear(x, kClasses, {.name = "out"}));
}

// Convolution, norm or a bias instead, relu.
Var conv_unit(const ModelContext& context, Var x, std::int64_t channels, const std::string& name) {
  const ScopeGuard scope(context.graph, name);
  const bool norm = context.settings.text("norm") == "batch";
  x = nn::conv2d(x, channels, {3, 3}, {.padding = {1, 1}, .bias = !norm, .weight = nn::he_normal});
  return relu(norm ? nn::batch_norm(x, {.name = "norm", .training = context.training}) : x);
}

Objective build_cnn(const ModelContext& context) {
  const std::int64_t channels = context.settings.integer("channels");
  const nn::DropoutOptions dropout{.rate = context.settings.number("dropout"),
                                   .training = context.training};
  Var x = context.input("x", {"batch", 1, kSide, kSide});
  for (const std::int64_t stage : {1, 2}) {
    for (const std::int64_t unit : {1, 2}) {
      x = conv_unit(context, x, stage * channels, fmt::format("conv_{}_{}", stage, unit));
    }
    x = max_pool(x, {.window = {2, 2}});
  }
  constexpr std::int64_t kPooled = kSide / 4;
  x = nn::dropout(reshape(x, {x.dim(0), 2 * channels * kPooled * kPooled}), dropout);
  x = relu(nn::linear(x, kHidden, {.name = "hidden", .weight = nn::he_normal}));
  return classify_logits(context, nn::linear(nn::dropout(x, dropout), kClasses, {.name = "out"}));
}

using Load = data::Splits (*)(const std::filesystem::path& folder, const data::Normalisation&);

Recipe mlp_recipe(const std::string& name, const std::string& what, Load load,
                  const TrainingDefaults& defaults) {
  return {.name = name,
          .summary = "a perceptron with two hidden layers on " + what,
          .options = with_training_options(
              {{"hidden_1", kInteger, "512", "width of the first hidden layer", 1, 65536},
               {"hidden_2", kInteger, "256", "width of the second hidden layer; 0: none", 0, 65536},
               {.name = "units",
                .kind = OptionKind::choice,
                .fallback = "relu",
                .doc = "of the hidden layers; threshold: 0 or 1, for engines that need no slope",
                .choices = {"relu", "sigmoid", "threshold"}},
               dropout_option("0.2")},
              defaults),
          .prepare = [load](const RecipeContext& context) {
            return Task{.data = load(context.data_folder, {}), .model = build_mlp};
          }};
}

data::Augment augmentation(const Settings& settings, bool flips) {
  const std::int64_t shift = settings.integer("shift");
  return [shift = data::random_shift(shift), flip = data::random_flip(), flips](data::Batch& batch,
                                                                                RandomStream key) {
    shift(batch, key);
    if (flips) {
      flip(batch, key);
    }
  };
}

// What the recipes of convolutional networks differ in, beside how they are trained.
struct CnnDefaults {
  bool flips;
  std::string channels, shift;
};

Recipe cnn_recipe(const std::string& name, const std::string& what, Load load,
                  const CnnDefaults& model, const TrainingDefaults& defaults) {
  return {
      .name = name,
      .summary = "a small convolutional network on " + what,
      .options = with_training_options({{"channels", kInteger, model.channels,
                                         "of the first two convolutions; the other two have twice "
                                         "as many",
                                         1, 1024},
                                        {"shift", kInteger, model.shift,
                                         "pixels by which training images move at random", 0, 14},
                                        {.name = "norm",
                                         .kind = OptionKind::choice,
                                         .fallback = "batch",
                                         .doc = "behind the convolutions",
                                         .choices = {"batch", "none"}},
                                        dropout_option("0.3")},
                                       defaults),
      .prepare = [load, flips = model.flips](const RecipeContext& context) {
        return Task{.data = load(context.data_folder, {}),
                    .model = build_cnn,
                    .augment = augmentation(context.settings, flips)};
      }};
}

}  // namespace

Recipe mnist_mlp_recipe() {
  return mlp_recipe("mnist-mlp", "handwritten digits", data::mnist,
                    {.epochs = "15", .schedule = "cosine"});
}

Recipe fashion_mlp_recipe() {
  return mlp_recipe("fashion-mlp", "pictures of clothes", data::fashion_mnist,
                    {.epochs = "20", .schedule = "cosine"});
}

Recipe mnist_cnn_recipe() {
  return cnn_recipe("mnist-cnn", "handwritten digits", data::mnist,
                    {.flips = false, .channels = "16", .shift = "2"},
                    {.epochs = "12",
                     .optimiser = "adamw",
                     .lr = "0.002",
                     .schedule = "cosine",
                     .warm_up = "0.5",
                     .weight_decay = "0.01"});
}

Recipe fashion_cnn_recipe() {
  return cnn_recipe("fashion-cnn", "pictures of clothes", data::fashion_mnist,
                    {.flips = true, .channels = "32", .shift = "1"},
                    {.epochs = "8",
                     .optimiser = "adamw",
                     .lr = "0.004",
                     .schedule = "cosine",
                     .warm_up = "0.5",
                     .weight_decay = "0.05"});
}

}  // namespace antichain
