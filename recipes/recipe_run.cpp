#include "recipes/recipe_run.h"

#include <algorithm>
#include <new>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/base/file_error.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/state_ops.h"
#include "recipes/chain_options.h"
#include "recipes/precision.h"
#include "recipes/training_options.h"

namespace antichain {

namespace {

RecipeContext settled(const Recipe& recipe, RecipeContext context) {
  if (recipe.settle) {
    recipe.settle(context.settings);
  }
  return context;
}

// Values that overflow on the way to a loss make a bad step, as gradients do that overflow; so many
// in a row are not the scale's fault any more.
constexpr std::int64_t kMostBadSteps = 20;

SessionOptions session_options(const Recipe& recipe, const RecipeContext& context) {
  SessionOptions options{.device = context.device,
                         .seed = context.seed,
                         .tf32 = precision_of(context.settings).tf32,
                         .logger = context.logger};
  set_scan_options(recipe, context.settings, options);
  return options;
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
  session.engines().find(context.settings.text("engine"));
  Task task = loaded(recipe, context);
  ensure(task.data.train != nullptr && task.data.test != nullptr, "recipe '{}' lacks data",
         recipe.name);
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

RecipeRun::RecipeRun(const Recipe& recipe, RecipeContext context)
    : recipe_(recipe),
      context_(settled(recipe, std::move(context))),
      session_(session_options(recipe_, context_)),
      task_(prepared(recipe_, context_, session_)),
      train_graph_(session_.graph()),
      evaluation_graph_(session_.graph()) {}

ModelContext RecipeRun::model_context(Graph& graph, bool training) const {
  return {.graph = graph,
          .settings = context_.settings,
          .training = training,
          .engine = recipe_.engine_for_chain ? context_.settings.text("engine") : std::string(),
          .forward = forward_of(recipe_, context_.settings)};
}

std::int64_t RecipeRun::batch_size() const {
  return std::min(context_.settings.integer("batch"), task_.data.train->size());
}

std::unique_ptr<data::Batches> RecipeRun::batches() const {
  return std::make_unique<data::Batches>(
      task_.data.train,
      data::BatchesOptions{.batch = batch_size(), .seed = context_.seed, .augment = task_.augment});
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
    const Var loss = total_loss(task_.model(model_context(train_graph_, true)));
    const std::vector<Var> updates = build_updates(
        loss, context_.settings,
        {.steps_per_epoch = batches()->batches_per_epoch(),
         .engine = recipe_.engine_for_chain ? std::string() : context_.settings.text("engine")});
    CompileOptions options{.updates = updates,
                           .optimiser = context_.optimiser,
                           .memory_budget = context_.memory_budget};
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

std::vector<DeviceChoice> RecipeRun::device_choices() {
  Graph& compiled = step().graph();
  const DimEnv env = sizes_of_the_step();
  std::vector<DeviceChoice> choices;
  for (std::uint32_t id = 0; id < compiled.num_ops(); ++id) {
    const Op op = compiled.op(OpId{id});
    if (std::string how = session_.explain(op, env); !how.empty()) {
      choices.push_back({op.describe(), std::move(how)});
    }
  }
  return choices;
}

std::optional<KeptStates> RecipeRun::kept_states() {
  Graph& compiled = step().graph();
  const DimEnv env = sizes_of_the_step();
  std::optional<KeptStates> longest;
  for (const KeptStates& kept : antichain::kept_states(compiled, env)) {
    longest = !longest || kept.steps > longest->steps ? kept : longest;
  }
  return longest;
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
    evaluation_ = session_.compile(outputs, {.optimiser = context_.optimiser});
  }
  return *evaluation_;
}

std::vector<Evaluation> RecipeRun::evaluations() {
  std::vector<Evaluation> all;
  if (task_.data.validation) {
    all.push_back({"validation", evaluation(), task_.data.validation});
  }
  all.push_back({"test", evaluation(), task_.data.test});
  return all;
}

TrainResult RecipeRun::train(TrainOptions options) {
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

Score RecipeRun::evaluate(const std::string& part) {
  for (const Evaluation& evaluation : evaluations()) {
    if (evaluation.name == part) {
      return antichain::evaluate(evaluation);
    }
  }
  fail<InvalidArgument>("recipe '{}' has no {} data", recipe_.name, part);
}

RunSummary RecipeRun::summarize(const TrainResult& result) {
  const auto test = result.scores.find("test");
  const Score score = test != result.scores.end() ? test->second : Score{};
  return {.train_loss = result.train_loss,
          .test_accuracy = score.accuracy,
          .test_loss = score.loss,
          .seconds = result.seconds,
          .samples_per_second = static_cast<double>(result.samples) / result.seconds,
          .peak_bytes = peak_bytes(),
          .parameters = num_parameters(),
          .steps = result.steps,
          .epochs = result.epochs};
}

std::int64_t RecipeRun::num_parameters() {
  std::int64_t count = 0;
  for (const Var parameter : parameters(graph())) {
    count += session_.states().get(state_name(parameter)).numel();
  }
  return count;
}

std::int64_t RecipeRun::peak_bytes() {
  std::size_t bytes = 0;
  for (const auto& [name, value] : session_.states().all()) {
    bytes += value.bytes();
  }
  bytes += step_ ? step_->memory_bytes() : 0;
  bytes += evaluation_ ? evaluation_->memory_bytes() : 0;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace antichain
