// The models whose training steps are timed, as benchmarks/peers/pytorch_models.py builds them.
#pragma once

#include <functional>
#include <vector>

#include "antichain/antichain.h"
#include "benchmarks/citation_graph.h"

namespace antichain::bench {

/// Returns the updates of a step for a loss.
using Optimiser = std::function<std::vector<Var>(Var loss)>;
std::vector<Var> sgd(Var loss);
std::vector<Var> momentum(Var loss);
std::vector<Var> adam(Var loss);
/// Puts the gradients into buffers and changes no parameter: forward and backward alone.
std::vector<Var> keep_gradients(Var loss);

/// A loss, what follows from it and what it is fed.
struct StepModel {
  std::function<Var(Graph&, DType)> loss;  // computed in that type, from feeds of f32
  Optimiser optimiser;
  Feeds feeds;
};

StepModel mlp(std::int64_t batch, const std::vector<std::int64_t>& widths,
              const Optimiser& optimiser);
StepModel gru(std::int64_t steps, std::int64_t batch, std::int64_t inputs, std::int64_t hidden);
StepModel resnet(std::int64_t batch);
StepModel mobilenet(std::int64_t batch);
StepModel transformer(std::int64_t batch, std::int64_t steps, std::int64_t width,
                      std::int64_t heads, const Optimiser& optimiser);
/// A language model: embedded tokens, transformer layers that look back, logits of the next token.
struct GptSizes {
  std::int64_t steps, width, heads, layers, vocabulary;
};
StepModel gpt(std::int64_t batch, const GptSizes& sizes);
StepModel gcn(const GraphSizes& sizes, std::int64_t hidden);
/// Residual layers with weights of their own, as one chain along the depth.
StepModel ode_net(std::int64_t batch, std::int64_t width, std::int64_t depth);
/// A critic whose slope at its inputs is held at 1 (Gulrajani et al., 2017, equation 3): the step
/// differentiates a gradient.
StepModel gradient_penalty(std::int64_t batch);

// Models with branches that do not need each other.
StepModel towers(std::int64_t count, std::int64_t layers, std::int64_t width, std::int64_t batch);
StepModel gru_both_ways(std::int64_t steps, std::int64_t batch, std::int64_t inputs,
                        std::int64_t hidden);

}  // namespace antichain::bench
