// Recipe: a named model with data and settings, ready to run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "antichain/base/logger.h"
#include "recipes/settings.h"

namespace antichain {

/// Tells how far a run has come; recipes report after every step.
struct RecipeProgress {
  std::int64_t epoch = 0, epochs = 0;  // the current one counts from 1
  std::int64_t step = 0, steps = 0;    // done and in all
  std::int64_t samples = 0;            // trained on so far
  double loss = 0;                     // of this step
  double accuracy = 0;                 // as of the last evaluation; NaN before the first
};

/// Says how a metric is written for people.
enum class MetricKind { plain, count, fraction, seconds };

struct Metric {
  std::string name;  // in snake case: "test_accuracy"
  double value = 0;
  MetricKind kind = MetricKind::plain;
};

struct RecipeResult {
  std::vector<Metric> metrics;

  /// Returns the metric's value; throws InternalError when the recipe has none of that name.
  double metric(std::string_view name) const;
};

/// What a recipe is run with.
struct RecipeContext {
  RecipeSettings settings;
  std::int64_t seed = 0;
  std::string device = "cpu";
  Logger logger = Logger();
  std::function<void(const RecipeProgress&)> progress = [](const RecipeProgress&) {};
};

struct Recipe {
  std::string name;
  std::string summary;
  std::vector<RecipeOption> options;
  /// Runs to the end. May settle fallbacks in the settings that depend on others.
  std::function<RecipeResult(RecipeContext&)> run;

  /// Returns a context with this recipe's options at their fallbacks.
  RecipeContext context() const { return {.settings = {name, options}}; }
};

}  // namespace antichain
