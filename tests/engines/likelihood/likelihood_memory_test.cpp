// Values of all layers are not kept.
#include <gtest/gtest.h>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/engine_plan.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/engines/likelihood/perceptron.h"

namespace antichain::likelihood_tests {

using Build = std::function<Var(Graph&)>;  // the losses of the examples

// Planned for a step, without parameters and what is returned: gradients are summed.
std::size_t planned(const Build& build, const Feeds& feeds, const std::string& engine) {
  Session session;
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse(engine));
  const Var losses = build(graph);
  std::vector<Var> lengths;
  for (Var gradient : grad(mean(losses), parameters(graph), {.at = {losses}})) {
    lengths.push_back(sum(square(gradient)));
  }
  const Executable run = session.compile(lengths);
  run(feeds);
  return run.memory_bytes();
}

std::size_t planned(int layers, const std::string& engine) {
  constexpr std::int64_t kBatch = 1024, kWidth = 64;
  const Perceptron model{
      .features = kWidth,
      .widths = std::vector<std::int64_t>(static_cast<std::size_t>(layers), kWidth),
      .activation = [](Var x) { return relu(x); },
      .dtype = f32};
  return planned(
      [&](Graph& graph) { return model.build(graph); },
      {{"x", Tensor::zeros(f32, {kBatch, kWidth})}, {"labels", Tensor::zeros(i64, {kBatch})}},
      engine);
}

double part_of_exact(int layers, const std::string& mode) {
  return static_cast<double>(
             planned(layers, "likelihood:copies=8,at_once=1,inactive=noisy,mode=" + mode)) /
         static_cast<double>(planned(layers, "backprop"));
}

TEST(LikelihoodMemory, IsAThirdOfBackPropagations) {
  EXPECT_LE(part_of_exact(8, "full"), 0.3);
  EXPECT_LE(part_of_exact(8, "layer"), 0.3);
  EXPECT_LE(part_of_exact(12, "layer"), 0.3);
}

// 16 convolutions.
std::size_t planned_for_images(const std::string& engine) {
  constexpr std::int64_t kBatch = 64, kSide = 12, kChannels = 8;
  const auto build = [](Graph& graph) {
    Var x = graph.input("x", f32, {"batch", kChannels, kSide, kSide});
    for (int i = 0; i < 16; ++i) {
      x = relu(
          nn::conv2d(x, kChannels, {3, 3}, {.name = fmt::format("conv_{}", i), .padding = {1, 1}}));
    }
    const Var logits = nn::linear(mean(x, {2, 3}), 10, {.name = "out"});
    return nn::cross_entropy(logits, graph.input("labels", i64, {"batch"}));
  };
  return planned(build,
                 {{"x", Tensor::zeros(f32, {kBatch, kChannels, kSide, kSide})},
                  {"labels", Tensor::zeros(i64, {kBatch})}},
                 engine);
}

TEST(LikelihoodMemory, OfImagesToo) {
  const auto exact = static_cast<double>(planned_for_images("backprop"));
  for (const char* mode : {"full", "layer"}) {
    const std::string engine = "likelihood:copies=4,at_once=1,mode=";
    EXPECT_LE(static_cast<double>(planned_for_images(engine + mode)), 0.3 * exact) << mode;
  }
}

// Copies beyond those that the caches hold are computed in turn.
TEST(LikelihoodMemory, IsBoundedForAnyNumberOfCopies) {
  const std::string engine = "likelihood:mode=layer,copies=";
  const std::size_t few = planned(4, engine + "128"), many = planned(4, engine + "1024"),
                    at_once = planned(4, engine + "1024,at_once=1024");
  EXPECT_LT(static_cast<double>(many), 1.4 * static_cast<double>(few));
  EXPECT_GT(static_cast<double>(at_once), 8 * static_cast<double>(many));
}

TEST(LikelihoodMemory, OfFeedbackIsThatOfCopiesAtOnce) {
  const std::string engine = "likelihood:mode=layer,noise=rademacher,copies=64,feedback=yes";
  EXPECT_LT(static_cast<double>(planned(4, engine + ",at_once=2")),
            0.2 * static_cast<double>(planned(4, engine + ",at_once=64")));
}

TEST(LikelihoodMemory, DoesNotGrowWithDepth) {
  for (const char* mode : {"full", "layer"}) {
    const std::string engine = fmt::format("likelihood:mode={},copies=4,at_once=1", mode);
    const std::size_t shallow = planned(8, engine), deep = planned(24, engine);
    EXPECT_LE(static_cast<double>(deep), 1.2 * static_cast<double>(shallow)) << mode;
  }
}

}  // namespace antichain::likelihood_tests
