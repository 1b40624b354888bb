#include "recipes/gradient_check.h"

#include <algorithm>
#include <cmath>

#include "antichain/autodiff/engine.h"
#include "antichain/autodiff/grad.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/runtime/expected_sizes.h"
#include "antichain/session/session.h"
#include "recipes/precision.h"
#include "recipes/recipe_run.h"

namespace antichain {

namespace {

struct Gradients {
  double loss = 0;
  std::vector<std::vector<double>> values;  // by parameter
};

constexpr const char* kScale = "loss_scale";

// The loss and its gradients, compiled: the states have their first values then.
struct GradientRun {
  std::vector<std::string> names;
  Executable executable;

  // The loss is multiplied by `scale` before it is differentiated, the gradients are not.
  Gradients operator()(data::Batch batch, double scale) const {
    batch[kScale] = Tensor::scalar(scale);
    const Results results = executable(batch);
    Gradients gradients{.loss = results.item<double>()};
    for (std::size_t i = 1; i < results.size(); ++i) {
      gradients.values.push_back(results[i].to_vector<double>());
      for (double& value : gradients.values.back()) {
        value /= scale;
      }
    }
    return gradients;
  }
};

bool is_finite(const Gradients& gradients) {
  return std::ranges::all_of(gradients.values, [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  });
}

GradientRun compile_gradients(Session& session, const ModelContext& context, const Task& task,
                              const data::Batch& batch, std::int64_t examples,
                              const CompilerOptions& compiler) {
  expect_batch(context.graph, examples);
  const Objective objective = task.model(context);
  const Var loss = total_loss(objective);
  expect_sizes(context.graph, batch);
  const std::vector<Var> weights = parameters(context.graph);
  const Var scale = context.graph.input(kScale, f64, {});
  GradOptions by{.zero_if_unused = true};
  if (wants_example_losses(session.engines(), context.graph.engine_plan())) {
    by.at = {objective.losses};
  }
  std::vector<Var> outputs = vjp({loss}, {cast(scale, loss.dtype())}, weights, by);
  outputs.insert(outputs.begin(), loss);
  std::vector<std::string> names;
  for (const Var weight : weights) {
    names.push_back(state_name(weight));
  }
  return {std::move(names), session.compile(outputs, {.compiler = compiler})};
}

// Halves the scale, as training does, until the gradients are finite. Every attempt starts from the
// same states.
Gradients scaled_gradients(const GradientRun& run, const data::Batch& batch, StateStore& states) {
  const StateStore::Values before = states.all();
  for (double scale = kFirstLossScale;; scale /= 2) {
    Gradients found = run(batch, scale);
    if (is_finite(found) || scale <= 1) {
      return found;
    }
    for (const auto& [name, value] : before) {
      states.set(name, value);
    }
  }
}

Tensor widened(const Tensor& tensor) {
  return is_float(tensor.dtype()) ? tensor.cast(f64) : tensor;
}

double relative_error(const std::vector<double>& found, const std::vector<double>& exact) {
  double distance = 0, length = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    distance += (found[i] - exact[i]) * (found[i] - exact[i]);
    length += exact[i] * exact[i];
  }
  return length > 0 ? std::sqrt(distance / length) : std::sqrt(distance);
}

// What an engine that estimates has reported about itself.
std::optional<double> reported_error(const StateStore& states) {
  const std::string name = std::string(kReportPrefix) + "standard_error";
  return states.contains(name) ? std::optional(states.get(name).item<double>()) : std::nullopt;
}

double cosine_between(const std::vector<double>& found, const std::vector<double>& exact) {
  double product = 0, found_square = 0, exact_square = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    product += found[i] * exact[i];
    found_square += found[i] * found[i];
    exact_square += exact[i] * exact[i];
  }
  const double lengths = std::sqrt(found_square * exact_square);
  return lengths == 0 && found_square == exact_square ? 1 : product / lengths;
}

std::vector<double> together(const Gradients& gradients) {
  std::vector<double> all;
  for (const std::vector<double>& values : gradients.values) {
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

double GradientCheck::max_relative_error() const {
  double largest = 0;
  for (const ParameterError& error : parameters) {
    // Not by std::max, which loses a NaN.
    largest = error.relative_error <= largest ? largest : error.relative_error;
  }
  return largest;
}

GradientCheck check_gradients(const Recipe& recipe, const RecipeContext& context,
                              const StateStore::Values& trained) {
  RecipeRun run(recipe, context);
  const data::Batch batch = run.first_batch();

  Graph graph = run.session().graph();
  graph.choose_engines(run.context().engines());
  const GradientRun found_run =
      compile_gradients(run.session(), {.graph = graph, .settings = run.context().settings},
                        run.task(), batch, run.batch_size(), context.compiler);

  for (const auto& [name, value] : trained) {  // moments and the like are of no use here
    if (run.session().states().contains(name)) {
      run.session().states().set(name, value);
    }
  }
  // Copied before anything has run: a run counts random numbers and moves statistics.
  Session exact_session({.seed = context.seed, .logger = context.logger});
  for (const auto& [name, value] : run.session().states().all()) {
    exact_session.states().set(name, widened(value).clone());
  }
  data::Batch exact_batch;
  for (const auto& [name, value] : batch) {
    exact_batch[name] = widened(value);
  }
  Graph exact_graph = exact_session.graph();
  const GradientRun exact_run = compile_gradients(
      exact_session, {.graph = exact_graph, .settings = run.context().settings, .dtype = f64},
      run.task(), exact_batch, run.batch_size(), {.level = 0});
  const Gradients found = precision_of(run.context().settings).scales_loss
                              ? scaled_gradients(found_run, batch, run.session().states())
                              : found_run(batch, 1);
  const Gradients exact = exact_run(exact_batch, 1);

  GradientCheck check{.loss = found.loss,
                      .loss_f64 = exact.loss,
                      .cosine = cosine_between(together(found), together(exact)),
                      .standard_error = reported_error(run.session().states())};
  for (std::size_t i = 0; i < found_run.names.size(); ++i) {
    check.parameters.push_back({found_run.names[i],
                                relative_error(found.values[i], exact.values[i]),
                                cosine_between(found.values[i], exact.values[i])});
  }
  return check;
}

}  // namespace antichain
