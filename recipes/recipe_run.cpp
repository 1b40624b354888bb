#include "recipes/recipe_run.h"

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/runtime/expected_sizes.h"
#include "recipes/engine_facts.h"
#include "recipes/nested_iteration.h"
#include "recipes/precision.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

RecipeContext with_settled(const Recipe& recipe, RecipeContext context) {
  context.settings = settled(recipe, std::move(context.settings));
  return context;
}

// What is watched to end early must not be what the result is measured on: where the data has no
// validation set, a part of what is for training becomes one. Without early stopping nothing is
// chosen, and all of it is trained on.
constexpr std::int64_t kTrainPerHeldOut = 10;

void hold_out_validation(Task& task, const RecipeContext& context) {
  if (context.settings.integer("patience") == 0 || task.data.validation) {
    return;
  }
  const std::int64_t count = task.data.train->size() / kTrainPerHeldOut;
  require(count > 0, "patience needs a validation set, and {} examples are too few to hold out one",
          task.data.train->size());
  std::tie(task.data.train, task.data.validation) =
      data::hold_out(task.data.train, count, context.seed);
}

// Values that overflow on the way to a loss make a bad step, as gradients do that overflow; so many
// in a row are not the scale's fault any more.
constexpr std::int64_t kMostBadSteps = 20;

SessionOptions session_options(const RecipeContext& context) {
  return {.device = context.device,
          .seed = context.seed,
          .tf32 = precision_of(context.settings).tf32,
          .logger = context.logger};
}

Task loaded(const Recipe& recipe, const RecipeContext& context) {
  try {
    return recipe.prepare(context);
  } catch (const std::bad_alloc&) {
    fail<MachineError>("the data of recipe '{}' do not fit into memory", recipe.name);
  }
}

// First of all: a misspelt engine is found before any data is loaded.
Task prepared(const Recipe& recipe, const RecipeContext& context, const Session& session) {
  for (const EnginePlan::Part& part : context.engines().parts()) {
    session.engines().check(part.engine);
  }
  settings_of_shallower_net(context.settings);  // throws where there cannot be one
  Task task = loaded(recipe, context);
  ensure(task.data.train != nullptr && task.data.test != nullptr, "recipe '{}' lacks data",
         recipe.name);
  hold_out_validation(task, context);
  return task;
}

}  // namespace

Task classification(data::Splits data, Objective (*model)(const ModelContext&, std::int64_t)) {
  const std::int64_t classes = data.num_classes;
  return {.data = std::move(data), .model = [model, classes](const ModelContext& context) {
            return model(context, classes);
          }};
}

Var ModelContext::input(std::string_view name, const std::vector<DimSpec>& shape) const {
  return cast(graph.input(name, dtype, shape), compute_dtype());
}

DType ModelContext::compute_dtype() const {
  return dtype == f32 ? precision_of(settings).dtype : dtype;
}

Var total_loss(const Objective& objective) {
  const Var loss = mean(objective.losses);
  return objective.penalty.valid() ? loss + objective.penalty : loss;
}

void expect_batch(Graph& graph, std::int64_t examples) {
  graph.dim("batch", {.expected = examples});
}

RecipeRun::RecipeRun(const Recipe& recipe, RecipeContext context)
    : recipe_(recipe),
      context_(with_settled(recipe, std::move(context))),
      session_(session_options(context_)),
      task_(prepared(recipe_, context_, session_)),
      train_graph_(session_.graph()),
      evaluation_graph_(session_.graph()) {
  tell_engines(session_, context_, batches()->batches_per_epoch());
}

ModelContext RecipeRun::model_context(Graph& graph, bool training) const {
  graph.choose_engines(context_.engines());
  return {.graph = graph, .settings = context_.settings, .training = training};
}

std::int64_t RecipeRun::batch_size() const {
  return std::min(context_.settings.integer("batch"), task_.data.train->size());
}

std::unique_ptr<data::Batches> RecipeRun::batches() const {
  return std::make_unique<data::Batches>(
      task_.data.train, data::BatchesOptions{.batch = batch_size(),
                                             .same_order = has_fixed_order(context_.settings),
                                             .seed = context_.seed,
                                             .augment = task_.augment});
}

data::Batch RecipeRun::first_batch() const {
  data::Batch batch;
  const std::unique_ptr<data::Batches> all = batches();
  all->start(1);
  ensure(all->next(batch), "there is no first batch");
  return batch;
}

const Executable& RecipeRun::step() {
  if (!step_) {
    expect_batch(train_graph_, batch_size());
    const Objective objective = task_.model(model_context(train_graph_, true));
    const Var loss = total_loss(objective);
    expect_sizes(train_graph_, first_batch());
    UpdatePlan plan{.steps_per_epoch = batches()->batches_per_epoch()};
    if (wants_example_losses(session_.engines(), context_.engines())) {
      plan.gradient_at = {objective.losses};
    }
    const std::vector<Var> updates = build_updates(loss, context_.settings, plan);
    CompileOptions options{
        .updates = updates, .compiler = context_.compiler, .memory_budget = context_.memory_budget};
    if (options.memory_budget) {
      options.plan_sizes = sizes_of_a_batch();
    }
    step_ = session_.compile({loss}, options);
  }
  return *step_;
}

std::map<std::string, std::int64_t> RecipeRun::sizes_of_a_batch() const {
  std::map<std::string, std::int64_t> sizes;
  const data::Batch batch = first_batch();
  for (Op input : train_graph_.inputs()) {
    const Var value = input.output();
    const auto fed = batch.find(value.name());
    for (int axis = 0; fed != batch.end() && axis < value.rank(); ++axis) {
      if (value.dim(axis).is_symbol()) {
        sizes[value.dim(axis).str()] = fed->second.shape()[static_cast<std::size_t>(axis)];
      }
    }
  }
  return sizes;
}

DimEnv RecipeRun::sizes_of_the_step() {
  DimEnv env;
  for (const auto& [name, size] : sizes_of_a_batch()) {
    env.bind(step().graph().dim(name).symbol(), size);
  }
  return env;
}

Graph& RecipeRun::graph() {
  step();
  return train_graph_;
}

const Executable& RecipeRun::evaluation() {
  if (!evaluation_) {
    const Objective objective = task_.model(model_context(evaluation_graph_, false));
    std::vector<Var> outputs = {objective.losses};
    if (objective.hits.valid()) {
      outputs.push_back(objective.hits);
    }
    for (const ExampleMetric& metric : objective.metrics) {
      metrics_.push_back({.name = metric.name, .is_ratio = metric.most.valid()});
      outputs.push_back(metric.values);
      if (metric.most.valid()) {
        outputs.push_back(metric.most);
      }
    }
    evaluation_ = session_.compile(outputs, {.compiler = context_.compiler});
  }
  return *evaluation_;
}

std::vector<Evaluation> RecipeRun::evaluations() {
  const Executable& executable = evaluation();
  std::vector<Evaluation> all;
  const auto add = [&](const char* name, const data::DatasetPtr& set) {
    all.push_back({name, executable, set, task_.evaluation_batch, metrics_});
  };
  if (task_.data.validation) {
    add("validation", task_.data.validation);
  }
  add("test", task_.data.test);
  return all;
}

// Returns its result where that ends everything: it was stopped, or there is nothing to start from.
std::optional<TrainResult> RecipeRun::train_shallower_net(const TrainOptions& options) {
  const std::optional<Settings> settings = settings_of_shallower_net(context_.settings);
  if (!settings) {
    return std::nullopt;
  }
  RecipeContext context = context_;
  context.settings = *settings;
  RecipeRun shallower(recipe_, std::move(context));
  TrainOptions own = options;
  own.lock = nullptr;
  if (!own.folder.empty()) {
    own.folder /= "shallower";
  }
  TrainResult result = shallower.train(std::move(own));
  if (!result.finished || result.is_diverged()) {
    return result;
  }
  start_from(shallower);
  return std::nullopt;
}

// Optimisers start anew: their steps and moments belong to the net that they were of.
void RecipeRun::start_from(RecipeRun& shallower) {
  step();
  const std::int64_t layers = shallower.context().settings.integer("layers");
  for (const StateInfo& state : train_graph_.states()) {
    const bool is_of_model = state.trainable && shallower.session().states().contains(state.name);
    if (!is_of_model) {
      continue;
    }
    const Tensor value = shallower.session().states().get(state.name);
    const Shape wanted = session_.states().get(state.name).shape();
    if (value.shape() == wanted) {
      session_.states().set(state.name, value);
    } else {
      ensure(value.rank() > 0 && value.shape()[0] == layers, "'{}' is not stacked by layers",
             state.name);
      session_.states().set(state.name, refined_layers(value, refines_linearly(context_.settings)));
    }
  }
  start_from_kept_states(session_.states(), shallower.session().states());
}

TrainResult RecipeRun::train(TrainOptions options) {
  if (std::optional<TrainResult> ended = train_shallower_net(options)) {
    return *std::move(ended);
  }
  options.epochs = context_.settings.integer("epochs");
  options.patience = context_.settings.integer("patience");
  if (precision_of(context_.settings).scales_loss) {
    options.most_bad_steps = kMostBadSteps;
  }
  const std::unique_ptr<data::Batches> batches = this->batches();
  Trainer trainer({.step = step(),
                   .batches = *batches,
                   .states = session_.states(),
                   .evaluations = evaluations()},
                  std::move(options));
  return trainer.run();
}

Evaluation RecipeRun::evaluation_of(const std::string& part) {
  for (const Evaluation& evaluation : evaluations()) {
    if (evaluation.name == part) {
      return evaluation;
    }
  }
  fail<InvalidArgument>("recipe '{}' has no {} data", recipe_.name, part);
}

Score RecipeRun::evaluate(const std::string& part) {
  return antichain::evaluate(evaluation_of(part));
}

Score RecipeRun::evaluate(const data::DatasetPtr& examples) {
  Evaluation evaluation = evaluation_of("test");
  evaluation.set = examples;
  return antichain::evaluate(evaluation);
}

data::DatasetPtr RecipeRun::perturbed(const std::string& part, const Perturbation& perturbation) {
  const Evaluation evaluation = evaluation_of(part);
  Graph graph = session_.graph();
  const PerturbedInputs moved =
      perturbed_inputs(session_, task_, model_context(graph, false), perturbation, first_batch());
  const Executable executable = session_.compile(moved.values, {.compiler = context_.compiler});
  return perturbed_set(executable, moved.names, evaluation.set, evaluation.batch);
}

}  // namespace antichain
