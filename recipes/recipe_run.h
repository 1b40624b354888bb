// RecipeRun: a recipe made ready for certain settings: data, session, compiled step and evaluation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "antichain/passes/memory/kept_states.h"
#include "antichain/session/session.h"
#include "antichain/train/trainer.h"
#include "recipes/perturbation.h"
#include "recipes/recipe.h"

namespace antichain {

/// How a run went, for tables and JSON.
struct RunSummary {
  double train_loss = 0, test_accuracy = 0, test_loss = 0;
  std::map<std::string, double> metrics = {};  // of the test set, by name
  std::map<std::string, double> reports = {};  // what engines measured last: see with_report
  double seconds = 0, samples_per_second = 0;
  std::int64_t peak_bytes = 0, parameters = 0, steps = 0, epochs = 0;
};

/// How a device computes an op, and why so.
struct DeviceChoice {
  std::string op, how;
};

/// How an engine differentiates a region that names it.
struct EngineExplanation {
  std::string region, engine, how;
};

class RecipeRun {
 public:
  /// Loads the data and settles the settings; compiles when something is first asked for.
  RecipeRun(const Recipe& recipe, RecipeContext context);

  const Recipe& recipe() const { return recipe_; }
  const RecipeContext& context() const { return context_; }
  const Task& task() const { return task_; }
  Session& session() { return session_; }

  /// Trains; epochs, patience and the evaluations come from the recipe. Where the settings ask for
  /// nested iteration, shallower nets are trained first, each in the folder "shallower" of the
  /// next, and go on from there, too, when a run is resumed.
  TrainResult train(TrainOptions options);
  /// Evaluates one part of the data ("validation", "test") with the states as they are.
  Score evaluate(const std::string& part);
  /// Likewise, on other examples than those of the data.
  Score evaluate(const data::DatasetPtr& examples);
  /// Returns the examples of a part with their inputs moved, by gradients of this model where that
  /// is asked for; see perturbed_inputs.
  data::DatasetPtr perturbed(const std::string& part, const Perturbation& perturbation);
  RunSummary summarize(const TrainResult& result);

  /// Returns the training step: yields the loss of a batch and writes the updates.
  const Executable& step();
  /// Returns what evaluates: yields the loss of every example of a batch and, where that makes
  /// sense, whether the answer is right.
  const Executable& evaluation();
  /// Returns the graph of the training step, before it was compiled.
  Graph& graph();
  /// Returns the number of trainable values.
  std::int64_t num_parameters();
  /// Returns the bytes of all states and of what the compiled graphs keep in between.
  std::int64_t peak_bytes();
  /// Returns the training set in batches, as training sees it.
  std::unique_ptr<data::Batches> batches() const;
  /// Returns the first batch of the first epoch.
  data::Batch first_batch() const;
  /// Returns what the training step keeps of its longest chain; nothing where it has no chain.
  std::optional<KeptStates> kept_states();
  /// Returns how the device computes those ops of the training step where it has a choice.
  std::vector<DeviceChoice> device_choices();
  /// Returns what engines say of the regions of the training step that name them.
  std::vector<EngineExplanation> explain_engines();
  /// Returns how many examples a full batch has.
  std::int64_t batch_size() const;

 private:
  std::map<std::string, std::int64_t> sizes_of_a_batch() const;
  DimEnv sizes_of_the_step();
  std::optional<TrainResult> train_shallower_net(const TrainOptions& options);
  void start_from(RecipeRun& shallower);
  ModelContext model_context(Graph& graph, bool training) const;
  std::vector<Evaluation> evaluations();
  Evaluation evaluation_of(const std::string& part);

  const Recipe& recipe_;
  RecipeContext context_;
  Session session_;
  Task task_;
  Graph train_graph_, evaluation_graph_;
  std::optional<Executable> step_, evaluation_;
  std::vector<Metric> metrics_;  // of the evaluation
};

/// Returns the newest number of each series that engines report, without "report/".
std::map<std::string, double> last_reports(const History& history);

/// Says how many examples most batches have, before a model is built: engines choose by it which
/// states they need. Recipes call that size "batch", whatever their inputs are.
void expect_batch(Graph& graph, std::int64_t examples);

/// Returns the mean of the losses plus the penalty.
Var total_loss(const Objective& objective);

}  // namespace antichain
