// Optimisers: the points that training goes through, which the builder finds by running it.
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adagrad.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/lbfgs.h"
#include "antichain/optim/rmsprop.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"
#include "tests/peer/builders.h"

namespace antichain::peer {

namespace {

Vars build_updates(const Case& c, Var loss) {
  const auto optimiser = c.get<std::string>("optimiser");
  const double lr = c.get<double>("lr");
  const double momentum = c.get("momentum", 0.0), weight_decay = c.get("weight_decay", 0.0);
  if (optimiser == "sgd") {
    return optim::sgd(loss, {.lr = lr,
                             .momentum = momentum,
                             .nesterov = c.flag("nesterov"),
                             .weight_decay = weight_decay});
  }
  if (optimiser == "rmsprop") {
    return optim::rmsprop(loss, {.lr = lr, .momentum = momentum, .weight_decay = weight_decay});
  }
  if (optimiser == "adagrad") {
    return optim::adagrad(
        loss, {.lr = lr, .initial = c.get<double>("initial"), .weight_decay = weight_decay});
  }
  if (optimiser == "lbfgs") {
    // It must accept every first trial, as the peer does: no slope is too steep.
    return optim::lbfgs(
        loss, {.lr = lr, .history = c.get<std::int64_t>("history"), .curvature = 1 - 1e-9});
  }
  const optim::AdamOptions options{.lr = lr, .weight_decay = weight_decay};
  return optimiser == "adam" ? optim::adam(loss, options) : optim::adamw(loss, options);
}

Vars build_trajectory(const Case& c, const Vars& in) {
  Session session;
  Graph graph = session.graph();
  const Var x = constant(graph, c.inputs.at(0)), y = constant(graph, c.inputs.at(1));
  const Var w = parameter("w", constant(graph, c.inputs.at(2)));
  const Var v = parameter("v", constant(graph, c.inputs.at(3)));
  const Var loss = mean(square(sum(tanh(matmul(x, w)) * v, {1}) - y));
  const Executable step = session.compile({loss}, {.updates = build_updates(c, loss)});
  std::vector<double> points;
  const auto steps = c.get<std::int64_t>("steps");
  for (std::int64_t i = 0; i < steps; ++i) {
    step({});
    for (const char* name : {"w", "v"}) {
      const auto values = session.states().get(name).to_vector<double>();
      points.insert(points.end(), values.begin(), values.end());
    }
  }
  const auto columns = static_cast<std::int64_t>(points.size()) / steps;
  return {constant(in.at(0).graph(), Tensor::of<double>({steps, columns}, points))};
}

}  // namespace

Builders optimiser_builders() { return {{"optimiser", build_trajectory}}; }

}  // namespace antichain::peer
