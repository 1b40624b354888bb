// The oracle of the layer tests: central differences in float64, by inputs and by parameters.
#pragma once

#include "antichain/ops/state/state_ops.h"
#include "tests/autodiff/finite_difference.h"

namespace antichain::nn {

/// Returns "name [shape]" of every parameter, in order of creation.
inline std::vector<std::string> list_parameters(Graph& graph) {
  std::vector<std::string> list;
  for (Var value : parameters(graph)) {
    list.push_back(state_name(value) + " " + to_string(value.shape()));
  }
  return list;
}

/// Checks the gradients of what `build` makes by all inputs and all parameters.
inline void expect_layer_gradients(const Build& build, const std::vector<Tensor>& at) {
  Session session;
  Graph graph = session.graph();
  const std::vector<Var> inputs = inputs_like(graph, at);
  const Var target = weighted_sum(build(graph, inputs));
  const std::vector<Var> trained = parameters(graph);
  std::vector<Var> all = inputs;
  all.insert(all.end(), trained.begin(), trained.end());
  const Executable value = session.compile({target}), slopes = session.compile(grad(target, all));
  std::vector<Tensor> point = at;
  for (Var parameter : trained) {
    point.push_back(session.states().get(state_name(parameter)).clone());
  }
  const auto run = [&](const std::vector<Tensor>& moved) {
    for (std::size_t i = 0; i < trained.size(); ++i) {
      session.states().set(state_name(trained[i]), moved[at.size() + i]);
    }
    const auto fed = moved.begin() + static_cast<std::ptrdiff_t>(at.size());
    return value(feed({moved.begin(), fed})).item<double>();
  };
  const Results found = slopes(feed(at));
  const DifferenceOptions options;
  const auto expected = central_differences(run, point, options.step);
  for (std::size_t i = 0; i < point.size(); ++i) {
    ASSERT_EQ(found[i].shape(), point[i].shape());
    const std::vector<double> gradient = found[i].to_vector<double>();
    for (std::size_t n = 0; n < gradient.size(); ++n) {
      const std::string what =
          i < at.size() ? inputs[i].name() : state_name(trained[i - at.size()]);
      expect_close(gradient[n], expected[i][n], options.tolerance,
                   what + ", element " + std::to_string(n));
    }
  }
}

}  // namespace antichain::nn
