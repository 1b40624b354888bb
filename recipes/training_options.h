// What can be set about the training of every recipe, and the optimiser that comes of it.
#pragma once

#include <string>
#include <vector>

#include "antichain/base/settings.h"
#include "antichain/graph/graph.h"
#include "recipes/recipe.h"

namespace antichain {

/// What a recipe trains with unless told otherwise, as a user would write it.
struct TrainingDefaults {
  std::string epochs = "10";
  std::string batch = "128";
  std::string optimiser = "adam";
  std::string lr = "0.001";
  std::string schedule = "constant";
  std::string warm_up = "0";
  std::string weight_decay = "0";
  std::string patience = "0";
  std::string lazy_rows = "0";
};

/// Returns a recipe's own options followed by those that all recipes have.
std::vector<OptionSpec> with_training_options(std::vector<OptionSpec> own,
                                              const TrainingDefaults& defaults);

/// Returns settings whose fallbacks are those that fit what was set: of the optimiser, then of the
/// recipe.
Settings settled(const Recipe& recipe, Settings settings);

struct UpdatePlan {
  std::int64_t steps_per_epoch = 1;
  std::vector<Var> gradient_at = {};  // where the gradient is cut; see GradOptions::at
};
/// Builds the optimiser that the settings name and returns its updates.
std::vector<Var> build_updates(Var loss, const Settings& settings, const UpdatePlan& plan);

}  // namespace antichain
