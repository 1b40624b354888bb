// Streams of bits, told apart by how many are 1 (Wang, Bai and Pekhimenko, 2020, section 4.1).
#include "antichain/data/synthetic.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

Objective build_bitstream(const ModelContext& context, std::int64_t classes) {
  const Settings& settings = context.settings;
  const Var bits = context.input("x", {"batch", settings.integer("length")});
  const Var y = context.graph.input("y", i64, {"batch"});
  const Var xs = reshape(transpose(bits), {bits.dim(1), bits.dim(0), 1});
  const Var last = nn::rnn(xs, settings.integer("hidden")).last;
  const Var logits = nn::linear(index(last, 0, 0), classes, {.name = "out"});
  return {.losses = nn::cross_entropy(logits, y), .hits = nn::is_correct(logits, y)};
}

}  // namespace

Recipe bitstream_rnn_recipe() {
  return {.name = "bitstream-rnn",
          .summary = "a recurrent network tells streams of bits apart by how many are 1",
          .options = with_training_options(
              {{"hidden", kInteger, "20", "units of the recurrent layer", 1, 4096},
               {.name = "length",
                .kind = kInteger,
                .fallback = "100",
                .doc = "bits of a stream; also T",
                .min = 1,
                .max = 1e7,
                .also = "T"},
               {"samples", kInteger, "50000", "streams; 64 % are for training", 100, 1e9}},
              {.epochs = "5", .batch = "16", .lr = "0.00001"}),
          .prepare = [](const RecipeContext& context) {
            data::Splits data = data::bitstream({.length = context.settings.integer("length"),
                                                 .samples = context.settings.integer("samples"),
                                                 .seed = context.seed});
            return classification(std::move(data), build_bitstream);
          }};
}

}  // namespace antichain
