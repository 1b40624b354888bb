#include "recipes/training_options.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/optim/adagrad.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/lbfgs.h"
#include "antichain/optim/rmsprop.h"
#include "antichain/optim/schedule.h"
#include "antichain/optim/sgd.h"
#include "recipes/precision.h"

namespace antichain {

namespace {

using optim::Schedule;

constexpr optim::LossScaling kLossScaling = {.scale = kFirstLossScale, .grow_after = 2000};

constexpr const char* kLbfgs = "lbfgs";
// What a recipe has for the other optimisers and L-BFGS, with a line search of its own, has not.
constexpr std::pair<const char*, const char*> kNothingForLbfgs[] = {
    {"schedule", "constant"}, {"warm_up", "0"},  {"weight_decay", "0"}, {"clip", "0"},
    {"accumulate", "1"},      {"lazy_rows", "0"}};
// Those whose rule looks at all of a parameter.
constexpr const char* kNeedAllRows[] = {"lars", "lamb"};

struct StepSettings {
  const Settings& settings;
  Schedule lr;
  optim::StepOptions step;

  double decay() const { return settings.number("weight_decay"); }
  double momentum() const { return settings.number("momentum"); }
  // Whether nothing is asked for that needs a gradient step.
  bool plain() const {
    return settings.text("schedule") == "constant" && settings.number("warm_up") == 0 &&
           decay() == 0 && settings.number("clip") == 0 && settings.integer("accumulate") == 1 &&
           settings.integer("lazy_rows") == 0;
  }
};

struct NamedOptimiser {
  std::string name;
  std::function<std::vector<Var>(Var loss, const StepSettings& chosen)> build;
};

optim::AdamOptions adam_options(const StepSettings& chosen) {
  return {.lr = chosen.lr, .weight_decay = chosen.decay(), .step = chosen.step};
}

std::vector<Var> build_sgd(Var loss, const StepSettings& chosen, bool nesterov) {
  return optim::sgd(loss, {.lr = chosen.lr,
                           .momentum = chosen.momentum(),
                           .nesterov = nesterov,
                           .weight_decay = chosen.decay(),
                           .step = chosen.step});
}

// In the order of optim::LineSearch.
constexpr const char* kLineSearches[] = {"wolfe", "backtracking", "none"};

optim::LineSearch line_search_of(const Settings& settings) {
  const auto* const found = std::ranges::find(kLineSearches, settings.text("line_search"));
  return static_cast<optim::LineSearch>(found - std::begin(kLineSearches));
}

const std::vector<NamedOptimiser>& optimisers() {
  static const std::vector<NamedOptimiser> all = {
      {"sgd", [](Var loss, const StepSettings& chosen) { return build_sgd(loss, chosen, false); }},
      {"nesterov",
       [](Var loss, const StepSettings& chosen) { return build_sgd(loss, chosen, true); }},
      {"adam", [](Var loss,
                  const StepSettings& chosen) { return optim::adam(loss, adam_options(chosen)); }},
      {"adamw",
       [](Var loss, const StepSettings& chosen) {
         return optim::adamw(loss, adam_options(chosen));
       }},
      {"rmsprop",
       [](Var loss, const StepSettings& chosen) {
         return optim::rmsprop(loss, {.lr = chosen.lr,
                                      .momentum = chosen.momentum(),
                                      .weight_decay = chosen.decay(),
                                      .step = chosen.step});
       }},
      {"adagrad",
       [](Var loss, const StepSettings& chosen) {
         return optim::adagrad(
             loss, {.lr = chosen.lr, .weight_decay = chosen.decay(), .step = chosen.step});
       }},
      {"lars",
       [](Var loss, const StepSettings& chosen) {
         return optim::lars(loss, {.lr = chosen.lr,
                                   .momentum = chosen.momentum(),
                                   .weight_decay = chosen.decay(),
                                   .step = chosen.step});
       }},
      {"lamb", [](Var loss,
                  const StepSettings& chosen) { return optim::lamb(loss, adam_options(chosen)); }},
      {kLbfgs,
       [](Var loss, const StepSettings& chosen) {
         require(chosen.plain(),
                 "optimiser=lbfgs has a line search of its own: schedule, warm_up, "
                 "weight_decay, clip, accumulate and lazy_rows must be left alone");
         require(!precision_of(chosen.settings).scales_loss,
                 "optimiser=lbfgs does not scale the loss: use another precision than {}",
                 precision_of(chosen.settings).name);
         return optim::lbfgs(loss, {.lr = chosen.settings.number("lr"),
                                    .history = chosen.settings.integer("pairs"),
                                    .engine = chosen.step.engine,
                                    .gradient_at = chosen.step.gradient_at,
                                    .line_search = line_search_of(chosen.settings)});
       }},
  };
  return all;
}

std::vector<std::string> optimiser_names() {
  std::vector<std::string> names;
  for (const NamedOptimiser& optimiser : optimisers()) {
    names.push_back(optimiser.name);
  }
  return names;
}

OptionSpec choice(const std::string& name, const std::string& fallback, const std::string& doc,
                  const std::vector<std::string>& choices) {
  return {.name = name,
          .kind = OptionKind::choice,
          .fallback = fallback,
          .doc = doc,
          .choices = choices};
}

Schedule schedule_of(const Settings& settings, std::int64_t steps_per_epoch) {
  const double lr = settings.number("lr");
  const std::int64_t steps = settings.integer("epochs") * steps_per_epoch;
  const std::int64_t warm_up =
      std::llround(settings.number("warm_up") * static_cast<double>(steps_per_epoch));
  const std::string& kind = settings.text("schedule");
  Schedule schedule = lr;
  if (kind == "cosine") {
    schedule = optim::cosine(std::max<std::int64_t>(1, steps - warm_up), lr);
  } else if (kind == "step") {
    schedule = optim::decay_every(std::max<std::int64_t>(1, steps / 3), lr);
  }
  return warm_up > 0 ? optim::warm_up(warm_up, schedule) : schedule;
}

}  // namespace

std::vector<OptionSpec> with_training_options(std::vector<OptionSpec> own,
                                              const TrainingDefaults& defaults) {
  const std::vector<OptionSpec> shared = {
      {"epochs", kInteger, defaults.epochs, "passes over the training set", 1, 1e6},
      {"batch", kInteger, defaults.batch, "examples per step", 1, 1e6},
      choice("optimiser", defaults.optimiser, "how a step follows from the gradient",
             optimiser_names()),
      {"lr", kNumber, defaults.lr, "learning rate", 1e-9},
      choice("schedule", defaults.schedule,
             "how the learning rate goes on; cosine: to 0, step: to a tenth after each third",
             {"constant", "cosine", "step"}),
      {"warm_up", kNumber, defaults.warm_up, "epochs in which the learning rate rises from 0", 0},
      {"weight_decay", kNumber, defaults.weight_decay, "pull of the parameters towards 0", 0},
      {"momentum", kNumber, "0.9", "of sgd, nesterov, lars and rmsprop", 0, 0.999},
      {"pairs", kInteger, "10", "changes of parameters and gradient that lbfgs keeps", 1, 1000},
      choice("line_search", kLineSearches[0],
             "of lbfgs; wolfe: by losses and gradients, backtracking: halves lr until the loss is "
             "small enough, none: steps of lr, one gradient each",
             {std::begin(kLineSearches), std::end(kLineSearches)}),
      {"clip", kNumber, "0", "largest norm of the gradient; 0: any", 0},
      {"accumulate", kInteger, "1", "runs whose gradients make one step", 1, 1e6},
      {"lazy_rows", kInteger, defaults.lazy_rows,
       "1: rows of tables of words or features stay as they are in steps without them", 0, 1},
      {"patience", kInteger, defaults.patience,
       "epochs without progress before training ends with the best parameters; 0: never", 0, 1e6},
      choice("order", "new",
             "of the examples; new: in each epoch another one, fixed: in all that of the first, so "
             "that the same batches come again",
             {"new", "fixed"}),
      precision_option(),
      {"engine", OptionKind::text, "backprop",
       "who computes the gradients, of chains where the model has one and of everything otherwise, "
       "or for each part of the model: see `antichain engines`"},
  };
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

Settings settled(const Recipe& recipe, Settings settings) {
  if (settings.text("optimiser") == kLbfgs) {
    for (const auto& [name, value] : kNothingForLbfgs) {
      settings.set_fallback(name, value);
    }
  }
  if (std::ranges::count(kNeedAllRows, settings.text("optimiser")) > 0) {
    settings.set_fallback("lazy_rows", "0");
  }
  if (recipe.settle) {
    recipe.settle(settings);
  }
  return settings;
}

std::vector<Var> build_updates(Var loss, const Settings& settings, const UpdatePlan& plan) {
  optim::StepOptions step{.gradient_at = plan.gradient_at,
                          .accumulate = settings.integer("accumulate")};
  if (settings.number("clip") > 0) {
    step.clip_norm = settings.number("clip");
  }
  if (settings.integer("lazy_rows") != 0) {
    step.lazy_rows = optim::looked_up();
  }
  if (precision_of(settings).scales_loss) {
    step.loss_scaling = kLossScaling;
  }
  const StepSettings chosen{.settings = settings,
                            .lr = schedule_of(settings, plan.steps_per_epoch),
                            .step = std::move(step)};
  const auto optimiser =
      std::find_if(optimisers().begin(), optimisers().end(), [&](const NamedOptimiser& candidate) {
        return candidate.name == settings.text("optimiser");
      });
  ensure(optimiser != optimisers().end(), "an optimiser that is no choice");
  require(optimiser->name == kLbfgs || line_search_of(settings) == optim::LineSearch::wolfe,
          "line_search={} is for optimiser=lbfgs", settings.text("line_search"));
  return optimiser->build(loss, chosen);
}

}  // namespace antichain
