// Recurrent networks on words and on signals.
#include "antichain/base/error.h"
#include "antichain/data/ag_news.h"
#include "antichain/data/uci_har.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/random.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

OptionSpec smoothing_option(const std::string& fallback) {
  return {"smoothing", kNumber, fallback, "part of the target that goes to all classes", 0, 0.9};
}

Objective classify_features(const ModelContext& context, Var features, std::int64_t classes) {
  const Var y = context.graph.input("y", i64, {"batch"});
  const nn::DropoutOptions dropout{.rate = context.settings.number("dropout"),
                                   .training = context.training};
  const Var logits = nn::linear(nn::dropout(features, dropout), classes, {.name = "out"});
  // Evaluation measures the plain loss.
  const double smoothing = context.training ? context.settings.number("smoothing") : 0;
  return {.losses = nn::cross_entropy(logits, y, {.label_smoothing = smoothing}),
          .hits = nn::is_correct(logits, y)};
}

// Embedded words, a GRU, and the mean of its states over the words that are there.
Objective build_agnews(const ModelContext& context, std::int64_t vocabulary, std::int64_t classes) {
  const Settings& settings = context.settings;
  const Var ids = context.graph.input("x", i64, {"batch", settings.integer("length")});
  const DType compute = context.compute_dtype();
  const nn::DropoutOptions dropout{.rate = settings.number("dropout"),
                                   .training = context.training};
  const Var words = transpose(ids);  // time first
  const Var is_word = not_equal(words, data::Vocabulary::kPadding);
  const Var there = cast(is_word, compute);
  Var xs = nn::embedding(words, vocabulary, settings.integer("embedding"),
                         {.dtype = compute, .weight = nn::normal(0, 0.1)});
  xs = nn::dropout(xs, dropout);
  const Var lengths = cast(sum(cast(is_word, context.dtype), {0}), i64);  // bf16 counts to 256
  const Var all = nn::gru(xs, settings.integer("hidden"), {.lengths = lengths}).all;
  const Var mask = expand_dims(there, -1);
  const Var mean_state = sum(all * mask, {0}) / maximum(sum(mask, {0}), 1);
  return classify_features(context, mean_state, classes);
}

Task prepare_agnews(const RecipeContext& context) {
  data::Splits data = data::ag_news(
      context.data_folder, {.length = context.settings.integer("length"),
                            .vocabulary = {.max_words = context.settings.integer("vocabulary")}});
  const std::int64_t words = data.num_features, classes = data.num_classes;
  return {.data = std::move(data), .model = [words, classes](const ModelContext& model) {
            return build_agnews(model, words, classes);
          }};
}

constexpr std::int64_t kSignals = 9, kTimes = 128;
constexpr const char *kGruCell = "gru", *kImplicitCell = "implicit", *kLstmCell = "lstm",
                     *kMixedCell = "mixed";

// The states of the last recurrent layer at all times, called alike whatever the cell is.
Var har_states(const Settings& settings, Var xs) {
  const std::int64_t hidden = settings.integer("hidden");
  const std::string& cell = settings.text("cell");
  const bool is_mixed = cell == kMixedCell;
  nn::RecurrentOptions options{.name = cell == kImplicitCell ? "implicit_gru"
                                       : is_mixed            ? kGruCell
                                                             : cell,
                               .layers = settings.integer("layers")};
  if (cell == kImplicitCell) {
    options.step = settings.number("step");
    return nn::implicit_gru(xs, hidden, options).all;
  }
  options.implicit_on_coarse_grids = is_mixed;
  require(settings.number("step") == 1, "the option step is for cell={}", kImplicitCell);
  return (cell == kLstmCell ? nn::lstm : nn::gru)(xs, hidden, options, Place::current()).all;
}

Objective build_har(const ModelContext& context, std::int64_t classes) {
  const Settings& settings = context.settings;
  Var x = context.input("x", {"batch", kSignals, kTimes});
  if (context.training) {  // people move more or less strongly, and telephones lie differently
    // Drawn in f32 whatever the model computes in: the same draw in any precision.
    const Var draw = random_normal(context.graph, f32, {x.dim(0), kSignals, 1});
    x = x * cast(1 + settings.number("scaling") * draw, x.dtype());
  }
  const Var xs = transpose(x, {2, 0, 1});  // [time, batch, signals]
  return classify_features(context, mean(har_states(settings, xs), {0}), classes);
}

}  // namespace

Recipe agnews_rnn_recipe() {
  return {.name = "agnews-rnn",
          .summary = "a recurrent network finds the topic of a piece of news from its words",
          .options = with_training_options(
              {{"embedding", kInteger, "64", "numbers that stand for a word", 1, 4096},
               {"hidden", kInteger, "64", "units of the recurrent layer", 1, 4096},
               {"length", kInteger, "48", "words of a text that are read", 1, 1000},
               {"vocabulary", kInteger, "30000", "words that are known", 10, 1e6},
               {"dropout", kNumber, "0.5", "part of the values set to 0 in training", 0, 0.9},
               smoothing_option("0")},
              {.epochs = "6", .batch = "64", .lr = "0.002", .schedule = "cosine"}),
          .prepare = prepare_agnews};
}

Recipe har_gru_recipe() {
  return {.name = "har-gru",
          .summary = "a recurrent network tells from the sensors of a telephone what people do",
          .options = with_training_options(
              {{.name = "cell",
                .kind = OptionKind::choice,
                .fallback = kGruCell,
                .doc = "of the recurrent layers; implicit: a GRU as implicit Euler steps, which "
                       "the coarse grids of engine multigrid can take long; mixed: a GRU with "
                       "such steps on coarse grids alone",
                .choices = {kGruCell, kImplicitCell, kLstmCell, kMixedCell}},
               {"step", kNumber, "1", "step size of cell=implicit", 1e-3, 1e3},
               {"hidden", kInteger, "100", "units of a recurrent layer", 1, 4096},
               {"layers", kInteger, "1", "recurrent layers", 1, 16},
               {"dropout", kNumber, "0.3", "part of the values set to 0 in training", 0, 0.9},
               smoothing_option("0.1"),
               {"scaling", kNumber, "0.1",
                "deviation of the random factor of each signal in training", 0, 1}},
              {.epochs = "10", .batch = "64", .lr = "0.004", .schedule = "cosine"}),
          .prepare = [](const RecipeContext& context) {
            data::Splits data = data::uci_har(context.data_folder);
            return classification(std::move(data), build_har);
          }};
}

}  // namespace antichain
