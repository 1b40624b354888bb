#include "recipes/gradient_check.h"

#include <algorithm>
#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/ops/state_ops.h"
#include "antichain/session/session.h"
#include "recipes/recipe_run.h"

namespace antichain {

namespace {

struct Gradients {
  double loss = 0;
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;
};

Gradients gradients_of(Session& session, const ModelContext& context, const Task& task,
                       const std::string& engine, const data::Batch& batch) {
  const Var loss = total_loss(task.model(context));
  const std::vector<Var> weights = parameters(context.graph);
  std::vector<Var> outputs = grad(loss, weights, {.engine = engine, .zero_if_unused = true});
  outputs.insert(outputs.begin(), loss);
  const Results results = session.compile(outputs)(batch);
  Gradients gradients{.loss = results.item<double>()};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    gradients.names.push_back(state_name(weights[i]));
    gradients.values.push_back(results[i + 1].to_vector<double>());
  }
  return gradients;
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

}  // namespace

double GradientCheck::max_relative_error() const {
  double largest = 0;
  for (const ParameterError& error : parameters) {
    // Not by std::max, which loses a NaN.
    largest = error.relative_error <= largest ? largest : error.relative_error;
  }
  return largest;
}

GradientCheck check_gradients(const Recipe& recipe, const RecipeContext& context) {
  RecipeRun run(recipe, context);
  const std::string& engine = run.context().settings.text("engine");
  const data::Batch batch = run.first_batch();

  Graph graph = run.session().graph();
  const Gradients found = gradients_of(run.session(),
                                       {.graph = graph,
                                        .settings = run.context().settings,
                                        .engine = recipe.engine_for_chain ? engine : ""},
                                       run.task(), recipe.engine_for_chain ? "" : engine, batch);

  Session exact_session({.seed = context.seed, .logger = context.logger});
  for (const auto& [name, value] : run.session().states().all()) {
    exact_session.states().set(name, widened(value));
  }
  data::Batch exact_batch;
  for (const auto& [name, value] : batch) {
    exact_batch[name] = widened(value);
  }
  Graph exact_graph = exact_session.graph();
  const Gradients exact = gradients_of(
      exact_session, {.graph = exact_graph, .settings = run.context().settings, .dtype = f64},
      run.task(), "", exact_batch);

  GradientCheck check{.loss = found.loss, .loss_f64 = exact.loss};
  for (std::size_t i = 0; i < found.names.size(); ++i) {
    check.parameters.push_back({found.names[i], relative_error(found.values[i], exact.values[i])});
  }
  return check;
}

}  // namespace antichain
