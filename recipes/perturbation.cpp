#include "recipes/perturbation.h"

#include <cmath>

#include "antichain/autodiff/engine.h"
#include "antichain/autodiff/grad.h"
#include "antichain/base/error.h"
#include "antichain/base/parse_number.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/random.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/runtime/expected_sizes.h"
#include "antichain/session/session.h"

namespace antichain {

namespace {

std::vector<Var> float_inputs_of(Graph& graph) {
  std::vector<Var> inputs;
  for (const Op input : graph.inputs()) {
    if (is_float(input.output().dtype())) {
      inputs.push_back(input.output());
    }
  }
  return inputs;
}

// By the inputs and by the parameters: engines find layers by the latter. What nobody asks for is
// not computed.
std::vector<Var> input_gradients(Session& session, Graph& graph, const Objective& objective,
                                 std::vector<Var> inputs) {
  const std::size_t count = inputs.size();
  for (const Var parameter : parameters(graph)) {
    inputs.push_back(parameter);
  }
  GradOptions by{.zero_if_unused = true};
  if (wants_example_losses(session.engines(), graph.engine_plan())) {
    by.at = {objective.losses};
  }
  std::vector<Var> gradients = grad(mean(objective.losses), inputs, by);
  gradients.resize(count);
  return gradients;
}

}  // namespace

Perturbation parse_perturbation(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const double size = colon == std::string_view::npos
                          ? 0
                          : parse_number<double>(text.substr(colon + 1)).value_or(0);
  require((kind == "fgsm" || kind == "noise") && size > 0 && std::isfinite(size),
          "inputs are perturbed by fgsm:SIZE or noise:SIZE, with a number above 0; got '{}'", text);
  return {.kind = kind == "fgsm" ? Perturbation::Kind::fgsm : Perturbation::Kind::noise,
          .size = size};
}

PerturbedInputs perturbed_inputs(Session& session, const Task& task, const ModelContext& context,
                                 const Perturbation& perturbation, const data::Batch& example) {
  Graph& graph = context.graph;
  const Objective objective = task.model(context);
  expect_sizes(graph, example);
  const std::vector<Var> inputs = float_inputs_of(graph);
  require(!inputs.empty(), "the model has no floating-point inputs that could be perturbed");
  std::vector<Var> gradients;
  if (perturbation.kind == Perturbation::Kind::fgsm) {
    gradients = input_gradients(session, graph, objective, inputs);
  }
  PerturbedInputs found;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Var x = inputs[i];
    const Var move = gradients.empty() ? random_normal(graph, x.dtype(), x.shape())
                                       : sign(cast(gradients[i], x.dtype()));
    found.names.push_back(x.name());
    found.values.push_back(minimum(maximum(x + perturbation.size * move, min(x)), max(x)));
  }
  return found;
}

data::DatasetPtr perturbed_set(const Executable& executable, const std::vector<std::string>& names,
                               const data::DatasetPtr& set, std::int64_t batch_size) {
  data::Batches batches(set, {.batch = batch_size, .shuffle = false});
  std::vector<data::DatasetPtr> parts;
  data::Batch batch;
  batches.start(0);
  while (batches.next(batch)) {
    const Results moved = executable(batch);
    for (std::size_t i = 0; i < names.size(); ++i) {
      batch[names[i]] = moved[i].clone();
    }
    parts.push_back(std::make_shared<data::TensorDataset>(batch));
    batch = {};
  }
  return data::concat(std::move(parts));
}

}  // namespace antichain
