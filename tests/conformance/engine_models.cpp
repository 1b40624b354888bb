// The models that engines are held against each other on.
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "tests/conformance/engine_checks.h"

namespace antichain::conformance {

namespace {

// x -> tanh(x w) as a region between two ordinary layers.
Var layer(Graph& graph, const Vars& in, const std::string& engine) {
  const Var before = sin(in[0]);
  const Var inside =
      call(graph, [&] { return Vars{tanh(matmul(before, in[1]) + in[2])}; }, {engine})[0];
  return sum(square(inside) * in[3]);
}

// Layers of different kinds and sizes, some of them in a residual block, as one region.
Var stack(Graph& graph, const Vars& in, const std::string& engine) {
  const auto body = [&] {
    const Var image = relu(conv(in[0], in[1], {.padding = {1}}));
    const Var block = tanh(image + conv(sin(image), in[2], {.padding = {1}}));
    const Var pooled = max_pool(block, {.window = {2}});
    return Vars{matmul(reshape(pooled, {2, 6}), in[3])};
  };
  return sum(square(call(graph, body, {engine})[0]));
}

// A recurrent network over time, with the loss on the last state.
Var recurrent(Graph&, const Vars& in, const std::string& engine) {
  const auto cell = [&](Var h, Var x) { return tanh(matmul(h, in[2]) + matmul(x, in[3])); };
  return mean(square(chain(in[0], in[1], cell, {.engine = engine}).last));
}

// Losses at every step, from the last step to the first.
Var loss_at_every_step(Graph&, const Vars& in, const std::string& engine) {
  const auto cell = [&](Var h, Var x) { return sigmoid(h * in[2] + x); };
  return sum(square(chain(in[0], in[1], cell, {.engine = engine, .reverse = true}).all));
}

// A residual network: a chain over stacked per-layer weights, with a second state that counts.
Var residual(Graph& graph, const Vars& in, const std::string& engine) {
  const auto block = [](Var step, const Vars& s, const Vars& w) -> StepResult {
    return {{s[0] + 0.3 * tanh(matmul(s[0], w[0])), s[1] + step}, {sum(s[0])}};
  };
  const ChainResult result =
      chain({in[0], scalar(graph, DType::i64, 0)}, {in[1]}, block, {.engine = engine});
  return sum(square(result.last[0])) + sum(result.ys[0]);
}

// A residual network of many layers, with losses at all of them.
Var deep(Graph&, const Vars& in, const std::string& engine) {
  const auto block = [](Var state, Var w) { return state + 0.2 * tanh(matmul(state, w)); };
  const Chain result = chain(in[0], in[1], block, {.engine = engine});
  return sum(square(result.last)) + 0.1 * sum(sin(result.all));
}

// A loop whose number of steps depends on its input.
Var repeated(Graph&, const Vars& in, const std::string& engine) {
  const LoopResult result = loop(
      {in[0]}, [](const Vars& s) { return less(sum(square(s[0])), 30); },
      [&](const Vars& s) { return Vars{s[0] * (1 + square(in[1]))}; }, {.engine = engine});
  return sum(sin(result.last[0]));
}

// A choice between two bodies.
Var chosen(Graph&, const Vars& in, const std::string& engine) {
  return sum(cond(
      greater(sum(in[0]), 0), [&] { return Vars{exp(in[0]) * in[1]}; },
      [&] { return Vars{cos(in[0])}; }, {engine})[0]);
}

// Losses of examples that are of second degree in the values of each layer.
Var example_losses(Graph& graph, const Vars& in, const std::string& engine) {
  const auto body = [&] {
    const Var hidden = matmul(in[0], in[1]) + in[2];
    return Vars{sum(square(matmul(hidden, in[3]) - in[4]) + hidden, {1})};
  };
  return sum(call(graph, body, {engine})[0] * in[5]);
}

// Likewise of a recurrent network, with a weight shared by all steps.
Var losses_of_sequences(Graph& graph, const Vars& in, const std::string& engine) {
  const auto body = [&] {
    const auto cell = [&](Var h, Var x) { return matmul(h, in[2]) + x; };
    const Var all = chain(in[0], matmul(in[1], in[3]) + in[4], cell).all;
    return Vars{sum(square(all), {0, 2})};
  };
  return mean(call(graph, body, {engine})[0]);
}

}  // namespace

const std::vector<EngineModel>& engine_models() {
  static const std::vector<EngineModel> models = {
      {"layer", {{2, 3}, {3, 2}, {2}, {2}}, layer},
      {"unequal layers", {{2, 2, 5}, {3, 2, 3}, {3, 3, 3}, {6, 2}}, stack},
      {"recurrent chain", {{2, 3}, {5, 2, 2}, {3, 3}, {2, 3}}, recurrent},
      {"loss at every step", {{3}, {4, 3}, {3}}, loss_at_every_step},
      {"residual chain", {{1, 2}, {4, 2, 2}}, residual},
      {"deep residual chain", {{1, 2}, {13, 2, 2}}, deep},
      {"loop", {{3}, {3}}, repeated},
      {"cond", {{3}, {3}}, chosen},
      {"losses of examples", {{5, 3}, {3, 2}, {2}, {2, 2}, {5, 2}, {5}}, example_losses},
      {"losses of sequences", {{3, 2}, {4, 3, 2}, {2, 2}, {2, 2}, {2}}, losses_of_sequences},
  };
  return models;
}

}  // namespace antichain::conformance
