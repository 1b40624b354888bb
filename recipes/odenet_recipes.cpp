// Residual networks as explicit Euler steps of a differential equation u' = σ(W(t) u + b(t)).
#include "antichain/data/hyperspectral.h"
#include "antichain/data/synthetic.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "recipes/odenet_model.h"
#include "recipes/recipe_list.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

std::vector<OptionSpec> odenet_options(const std::string& width, const std::string& layers,
                                       const std::string& time) {
  std::vector<OptionSpec> options = residual_options(layers, time);
  options.insert(options.begin(),
                 {"width", kInteger, width, "channels of the residual layers", 1, 4096});
  return options;
}

Objective build_odenet(const ModelContext& context, std::int64_t inputs, std::int64_t classes) {
  const Settings& settings = context.settings;
  const Var x = context.input("x", {"batch", inputs});
  const Var y = context.graph.input("y", i64, {"batch"});
  const Var opened = tanh(nn::linear(x, settings.integer("width"), {.name = "opening"}));
  const Var state =
      nn::residual(opened, settings.integer("layers"), residual_layers(settings)).last;
  const Var logits = nn::linear(state, classes, {.name = "closing"});
  return {.losses = nn::cross_entropy(logits, y),
          .hits = nn::is_correct(logits, y),
          .penalty = regularisation(context)};
}

Task odenet_task(data::Splits data, std::int64_t inputs) {
  const std::int64_t classes = data.num_classes;
  return {.data = std::move(data), .model = [inputs, classes](const ModelContext& context) {
            return build_odenet(context, inputs, classes);
          }};
}

Task hyperspectral_task(const RecipeContext& context) {
  const Settings& settings = context.settings;
  data::Splits data =
      settings.text("scene") == "salinas-a"
          ? data::salinas_a(
                context.data_folder,
                {.train = settings.number("train_part"), .validation = 0, .seed = context.seed})
          : data::indian_pines(context.data_folder,
                               {.fold = settings.integer("fold"), .seed = context.seed});
  data.validation = nullptr;  // nothing is chosen by it
  constexpr std::int64_t kFirst = 0;
  const std::int64_t bands = data.train->take({&kFirst, 1}).at("x").shape()[1];
  return odenet_task(std::move(data), bands);
}

using Fallbacks = std::vector<std::pair<const char*, const char*>>;

void set_fallbacks(Settings& settings, const Fallbacks& fallbacks) {
  for (const auto& [name, value] : fallbacks) {
    settings.set_fallback(name, value);
  }
}

constexpr const char *kNoPaper = "no", *kPaper = "paper", *kTalk = "talk";

OptionSpec published_option(const std::string& doc, std::vector<std::string> choices) {
  choices.insert(choices.begin(), kNoPaper);
  return {.name = "published",
          .kind = OptionKind::choice,
          .fallback = kNoPaper,
          .doc = doc + "; what is set besides counts",
          .choices = std::move(choices)};
}

// Günther, Ruthotto, Schroder, Cyr and Gauger, 2020, section 4, and the talk by the same people.
void settle_peaks(Settings& settings) {
  const std::string& published = settings.text("published");
  if (published == kPaper) {
    set_fallbacks(settings, {{"time", "1"},
                             {"activation", "smooth-relu"},
                             {"initial", "0.001"},
                             {"tikhonov", "1e-7"},
                             {"smoothness", "1e-5"},
                             {"closing", "1e-7"},
                             {"optimiser", "lbfgs"},
                             {"line_search", "backtracking"},
                             {"lr", "1"},
                             {"schedule", "constant"},
                             {"batch", "5000"},
                             {"epochs", "130"}});
  } else if (published == kTalk) {
    set_fallbacks(settings, {{"time", "5"}, {"initial", "1e-6"}, {"tikhonov", "1e-5"}});
  }
}

// 556 spectra make few steps an epoch and are soon learnt by heart.
void settle_for_few_spectra(Settings& settings) {
  if (settings.text("published") == kPaper) {
    set_fallbacks(settings, {{"scene", "indian-pines"},
                             {"width", "220"},
                             {"layers", "29"},
                             {"time", "20"},
                             {"initial", "0.001"},
                             {"tikhonov", "1e-7"},
                             {"smoothness", "1e-7"},
                             {"closing", "1e-7"},
                             {"optimiser", "lbfgs"},
                             {"line_search", "backtracking"},
                             {"pairs", "20"},
                             {"lr", "1"},
                             {"schedule", "constant"},
                             {"weight_decay", "0"},
                             {"batch", "4000"},
                             {"epochs", "130"}});
    return;
  }
  if (settings.text("scene") == "indian-pines") {
    settings.set_fallback("epochs", "200");
    settings.set_fallback("lr", "0.005");
    settings.set_fallback("weight_decay", "0.1");
  }
}

}  // namespace

Recipe peaks_odenet_recipe() {
  std::vector<OptionSpec> options = odenet_options("8", "32", "5");
  options.insert(options.begin(),
                 published_option("paper: T = 1, smooth-relu, L-BFGS on all examples, talk: T = 5, "
                                  "tanh, nearly no first weights",
                                  {kPaper, kTalk}));
  return {.name = "peaks-odenet",
          .summary = "a deep residual network finds the level bands of MATLAB's peaks function",
          .options = with_training_options(
              std::move(options),
              {.epochs = "400", .batch = "100", .lr = "0.01", .schedule = "cosine"}),
          .prepare =
              [](const RecipeContext& context) {
                data::Splits data = data::peaks({.seed = context.seed});
                data.test = std::move(data.validation);
                data.validation = nullptr;
                return odenet_task(std::move(data), 2);
              },
          .settle = settle_peaks};
}

Recipe hyperspectral_odenet_recipe() {
  std::vector<OptionSpec> options = odenet_options("64", "16", "5");
  options.insert(
      options.begin(),
      {published_option("paper: indian-pines, 29 layers of 220 channels, T = 20, L-BFGS", {kPaper}),
       {.name = "scene",
        .kind = OptionKind::choice,
        .fallback = "salinas-a",
        .doc = "salinas-a: the whole scene; indian-pines: 695 of its spectra, 5-fold",
        .choices = {"salinas-a", "indian-pines"}},
       {"train_part", kNumber, "0.6",
        "part of each class of salinas-a to train on; the rest is for testing", 0.01, 0.99},
       {"fold", kInteger, "0", "which fifth of indian-pines is for testing", 0, 4}});
  return {.name = "hyperspectral-odenet",
          .summary = "a deep residual network tells from spectra what grows in a field",
          .options = with_training_options(std::move(options), {.epochs = "60",
                                                                .batch = "64",
                                                                .optimiser = "adamw",
                                                                .lr = "0.002",
                                                                .schedule = "cosine",
                                                                .weight_decay = "0.01"}),
          .prepare = hyperspectral_task,
          .settle = settle_for_few_spectra};
}

}  // namespace antichain
