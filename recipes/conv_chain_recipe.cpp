// Convolutions behind each other, as many as one likes: what a budget for memory is for.
#include "antichain/data/synthetic.h"
#include "antichain/nn/layer.h"
#include "antichain/nn/linear.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

constexpr std::int64_t kWindow = 3;

std::vector<OptionSpec> conv_chain_options() {
  return with_training_options(
      {{"depth", kInteger, "32", "convolutions behind each other", 1, 1e7},
       {"channels", kInteger, "4", "channels of the images and of all convolutions", 1, 4096},
       {"size", kInteger, "16", "pixels along each side of an image", 1, 4096},
       {.name = "weights",
        .kind = OptionKind::choice,
        .fallback = "shared",
        .doc = "shared: one for all convolutions; own: one each",
        .choices = {"shared", "own"}}},
      {.epochs = "3", .batch = "32", .lr = "0.02"});
}

// Each is a small step, a convolution added to what was there: so any number of them can be
// trained. Together they are one filter; what it answers is rectified behind the chain, since a
// step that is not linear would have to keep one activation more on its way back.
Var convolutions(const ModelContext& context, Var x) {
  const std::int64_t depth = context.settings.integer("depth");
  const std::int64_t channels = context.settings.integer("channels");
  const nn::Layer layer("conv_chain", x, "convolutions");
  const Dims shape = {channels, channels, kWindow, kWindow};
  const bool own = context.settings.text("weights") == "own";
  const Var weight = layer.used(own ? layer.stacked_parameter("weight", depth, shape, nn::he_normal)
                                    : layer.parameter("weight", shape, nn::he_normal));
  const double step = 1 / static_cast<double>(depth);
  const auto body = [&](Var, const Vars& state, const Vars& slice) -> StepResult {
    const Var w = step * (own ? slice[0] : weight);
    const Ints same = {kWindow / 2, kWindow / 2};
    return {{state[0] + conv(state[0], w, {.padding = same})}};
  };
  return chain({x}, own ? Vars{weight} : Vars{}, body, {.length = depth}).last[0];
}

Objective build_conv_chain(const ModelContext& context, std::int64_t classes) {
  const std::int64_t channels = context.settings.integer("channels");
  const std::int64_t size = context.settings.integer("size");
  const Var x = context.input("x", {"batch", channels, size, size});
  const Var y = context.graph.input("y", i64, {"batch"});
  const Var seen = mean(relu(convolutions(context, x)), {2, 3});
  const Var logits = nn::linear(seen, classes, {.name = "closing"});
  return {.losses = nn::cross_entropy(logits, y), .hits = nn::is_correct(logits, y)};
}

}  // namespace

Recipe conv_chain_recipe() {
  return {.name = "conv-chain",
          .summary = "a chain of equal convolutions sees which way stripes run",
          .options = conv_chain_options(),
          .prepare = [](const RecipeContext& context) {
            data::Splits data = data::stripes({.channels = context.settings.integer("channels"),
                                               .size = context.settings.integer("size"),
                                               .seed = context.seed});
            return classification(std::move(data), build_conv_chain);
          }};
}

}  // namespace antichain
