// Convolutional residual networks as differential equations, on images of 28 x 28 grey pixels: the
// networks that layer-parallel training was shown on.
#include "antichain/data/image_dataset.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/nn/residual.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/shape/shape_ops.h"
#include "recipes/odenet_model.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

constexpr std::int64_t kImageSide = 28;

Objective build_image_odenet(const ModelContext& context, std::int64_t classes) {
  const std::int64_t channels = context.settings.integer("channels");
  const Var x = context.input("x", {"batch", 1, kImageSide, kImageSide});
  const Var y = context.graph.input("y", i64, {"batch"});
  const Var opened = tanh(nn::conv2d(x, channels, {3, 3}, {.name = "opening", .padding = {1, 1}}));
  const Var state = nn::residual_conv(opened, context.settings.integer("layers"),
                                      residual_layers(context.settings))
                        .last;
  constexpr std::int64_t kPooled = kImageSide / 2;
  const Var pooled = avg_pool(state, {.window = {2, 2}});
  const Var logits = nn::linear(reshape(pooled, {x.dim(0), channels * kPooled * kPooled}), classes,
                                {.name = "closing"});
  return {.losses = nn::cross_entropy(logits, y),
          .hits = nn::is_correct(logits, y),
          .penalty = regularisation(context)};
}

using LoadImages = data::Splits (*)(const std::filesystem::path& folder,
                                    const data::Normalisation&);

Recipe image_odenet(const std::string& name, const std::string& what, LoadImages load,
                    const TrainingDefaults& defaults) {
  std::vector<OptionSpec> options = residual_options("32", "5");
  options.insert(options.begin(),
                 {"channels", kInteger, "4", "channels of all convolutions", 1, 1024});
  return {.name = name,
          .summary = "a deep convolutional residual network on " + what,
          .options = with_training_options(std::move(options), defaults),
          .prepare = [load](const RecipeContext& context) {
            return classification(load(context.data_folder, {}), build_image_odenet);
          }};
}

}  // namespace

Recipe mnist_odenet_recipe() {
  return image_odenet("mnist-odenet", "handwritten digits", data::mnist,
                      {.epochs = "3", .lr = "0.004", .schedule = "cosine"});
}

Recipe fashion_odenet_recipe() {
  return image_odenet("fashion-odenet", "pictures of clothes", data::fashion_mnist,
                      {.epochs = "5", .lr = "0.004", .schedule = "cosine"});
}

}  // namespace antichain
