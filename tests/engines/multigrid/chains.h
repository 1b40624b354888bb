// Chains to solve by multigrid, and what they are compared by.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/session/session.h"

namespace antichain::multigrid_test {

/// Builds a chain from inputs of these shapes.
struct Model {
  std::vector<Shape> inputs;
  std::function<ChainResult(const Vars& in, const ChainOptions& options)> chain;
  DType dtype = f64;
  double size = 1;  // of the inputs
};

/// A residual network of layers u + h tanh(u w + b) with weights of their own, h = 5 / layers.
Model residual_net(std::int64_t layers, std::int64_t width = 3);
/// Likewise with the same weights in all layers.
Model shared_net(std::int64_t layers);
/// An implicit GRU over time, with outputs of every step.
Model implicit_gru(std::int64_t steps);

/// The outputs of a chain, then the gradients of a loss that depends on all of them.
struct Outcome {
  std::vector<Tensor> values;
  std::vector<Tensor> gradients;
};
Outcome run(const Model& model, const ChainOptions& options,
            const SessionOptions& session_options = {});

/// Returns the engine with these options, always.
EngineChoice multigrid(std::vector<EngineOption> options);

/// The distance of all gradients, or all values, as a part of what is wanted.
double error(const std::vector<Tensor>& got, const std::vector<Tensor>& want);
double cosine(const std::vector<Tensor>& got, const std::vector<Tensor>& want);

}  // namespace antichain::multigrid_test
