// Recipe: a named model with data and settings, ready to be trained, evaluated, compared, checked.
//
// A recipe says what its data is, how its model is built and what can be set; everything that is
// done with it (RecipeRun) is written once for all of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "antichain/base/logger.h"
#include "antichain/base/settings.h"
#include "antichain/data/batches.h"
#include "antichain/graph/graph.h"
#include "antichain/passes/compiler_options.h"

namespace antichain {

/// What a recipe is run with.
struct RecipeContext {
  Settings settings;
  std::int64_t seed = 0;
  std::string device = "cpu";
  std::string data_folder = {};  // empty: where data usually is
  CompilerOptions compiler = {};
  // The most bytes that values of a training step may take in between; see CompileOptions.
  std::optional<std::size_t> memory_budget = std::nullopt;
  Logger logger = Logger();

  /// Returns which engines differentiate the parts of the model.
  EnginePlan engines() const { return EnginePlan::parse(settings.text("engine")); }
};

/// What a model is built with.
struct ModelContext {
  Graph& graph;
  const Settings& settings;
  DType dtype = f32;     // of inputs and parameters; f64 to check gradients
  bool training = true;  // false: as for evaluation (no dropout, kept statistics)

  /// Returns the type that the model computes in: `dtype` or, of f32, what the precision says.
  DType compute_dtype() const;
  /// Declares a floating-point input and returns it in the type that the model computes in.
  Var input(std::string_view name, const std::vector<DimSpec>& shape) const;
};

/// Something that is measured of every example of a test set: see Metric.
struct ExampleMetric {
  std::string name;  // as JSON and curves show it
  Var values;        // [n]
  Var most = {};     // [n]: what an example allows at most; none: the mean of the values is taken
};

/// What a model says about a batch.
struct Objective {
  Var losses;        // [n]: of each example
  Var hits = {};     // [n]: 1 for a right answer, 0 for a wrong one; none where that has no meaning
  Var penalty = {};  // a number that is added to the mean of the losses; none: 0
  std::vector<ExampleMetric> metrics = {};  // looked at in evaluation alone
};

/// A recipe for certain settings.
struct Task {
  data::Splits data;
  std::function<Objective(const ModelContext&)> model;
  data::Augment augment = {};
  std::int64_t evaluation_batch = 256;  // examples
};

/// Returns a task on this data whose model is told the number of classes.
Task classification(data::Splits data,
                    Objective (*model)(const ModelContext& context, std::int64_t classes));

struct Recipe {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  // see training_options()
  /// Loads or draws the data; reads settings, the seed and the data folder.
  std::function<Task(const RecipeContext&)> prepare;
  /// Settles fallbacks that depend on other settings; may be empty.
  std::function<void(Settings&)> settle = {};

  /// Returns a context with this recipe's options at their fallbacks.
  RecipeContext context() const {
    return {.settings = {"recipe '" + name + "'", "antichain recipes " + name, options}};
  }
};

}  // namespace antichain
