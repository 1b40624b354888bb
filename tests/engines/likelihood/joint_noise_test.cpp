// Noise in front of other noise, of masks and of batch norms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/engine_plan.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/noise_site.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/engines/likelihood/perceptron.h"

namespace antichain::likelihood_tests {

using Build = std::function<Var(Graph&)>;  // the losses of the examples

std::vector<Numbers> runs_of(const Build& build, const std::string& engine, int runs) {
  Session session({.seed = 5});
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse(engine));
  const Var losses = build(graph);
  const Executable step = session.compile(grad(mean(losses), parameters(graph), {.at = {losses}}));
  std::vector<Numbers> rows;
  for (int i = 0; i < runs; ++i) {
    Numbers row;
    const std::vector<Tensor> gradients = step({}).tensors();
    for (const Tensor& gradient : gradients) {
      const Numbers values = gradient.cast(f64).to_vector<double>();
      row.insert(row.end(), values.begin(), values.end());
    }
    rows.push_back(row);
  }
  return rows;
}

// Two units in a row, the second one little above 0: noise of the first sets it to 0 now and then.
TEST(LikelihoodJointNoise, MasksAreThoseOfTheCleanRun) {
  constexpr double kFirst = 1.0, kSecond = 0.4, kSigma = 0.5;
  const auto build = [](Graph& graph) {
    const Var first = parameter("first", full(graph, f64, {1, 1}, kFirst));
    const Var second = parameter("second", full(graph, f64, {1, 1}, kSecond - kFirst));
    const Var z = noise_site(relu(noise_site(first)) + second);
    return sum(relu(z), {1});
  };
  const std::vector<Numbers> runs = runs_of(
      build, "likelihood:mode=full,noise=gaussian,copies=2000,sigma=0.5,last=estimated", 100);
  // The slope of the mean loss by the second, with noise on both, which are active without noise.
  std::mt19937_64 generator(11);
  std::normal_distribution<double> draw(0, 1);
  double want = 0;
  constexpr int kDraws = 2'000'000;
  for (int i = 0; i < kDraws; ++i) {
    const double first = std::max(kFirst + kSigma * draw(generator), 0.0);
    want += first + kSecond - kFirst + kSigma * draw(generator) > 0 ? 1.0 / kDraws : 0;
  }
  EXPECT_NEAR(mean_of(runs)[1], want, 0.015);
  EXPECT_LT(want, 0.8) << "the noise shows";
}

Var two_layers_of_one_scope(Graph& graph) {
  const auto matrix = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    Numbers values;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      values.push_back(std::cos(static_cast<double>(i * i)));
    }
    return parameter(name, constant(graph, Tensor::of<double>({rows, columns}, values)));
  };
  Var x = constant(graph, Tensor::of<double>({3, 2}, {1, 2, -1, 0.5, 0.2, 1}));
  {
    const ScopeGuard scope(graph, "block");
    x = tanh(matmul(x, matrix("narrow", 2, 4)));
    x = tanh(matmul(x, matrix("wide", 4, 6)));
  }
  const Var logits = nn::linear(x, 3, {.name = "out"});
  return nn::cross_entropy(logits, constant(graph, Tensor::of<std::int64_t>({3}, {0, 1, 2})));
}

TEST(LikelihoodJointNoise, SitesOfOneScopeHaveFeedbackOfTheirOwn) {
  const Numbers exact = runs_of(two_layers_of_one_scope, "backprop", 1)[0];
  const auto error = [&](const char* feedback) {
    double total = 0;
    for (const Numbers& run :
         runs_of(two_layers_of_one_scope,
                 fmt::format("likelihood:mode=layer,copies=2,feedback={}", feedback), 100)) {
      total += relative_error(run, exact);
    }
    return total;
  };
  EXPECT_LT(error("yes"), 0.8 * error("no"));
}

constexpr std::int64_t kFeatures = 6, kUnits = 8;

// Two layers with statistics of 32 examples.
Var two_normalised(Graph& graph) {
  constexpr std::int64_t kExamples = 32;
  Numbers values;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < kExamples * kFeatures; ++i) {
    values.push_back(std::sin(static_cast<double>(i * i)));
  }
  for (std::int64_t i = 0; i < kExamples; ++i) {
    labels.push_back(i % 3);
  }
  Var x = constant(graph, Tensor::of<double>({kExamples, kFeatures}, values));
  for (const char* name : {"first", "second"}) {
    const ScopeGuard scope(graph, name);
    x = relu(nn::batch_norm(nn::linear(x, kUnits, {.name = "linear"}),
                            {.name = "norm", .training = true}));
  }
  return nn::cross_entropy(nn::linear(x, 3, {.name = "out"}),
                           constant(graph, Tensor::of<std::int64_t>({kExamples}, labels)));
}

// Statistics are those of the clean run: what an example loses is its own doing. What remains is
// a bias, the gradient through the statistics of the layers behind.
TEST(LikelihoodJointNoise, BatchNormsDoNotMixExamples) {
  const Numbers exact = runs_of(two_normalised, "backprop", 1)[0];
  for (const char* mode : {"layer", "full"}) {
    const std::vector<Numbers> runs =
        runs_of(two_normalised, fmt::format("likelihood:copies=64,mode={}", mode), 30);
    EXPECT_GT(cosine(runs[0], exact), 0.85) << mode;
    // No norm is behind the second layer.
    constexpr std::ptrdiff_t kOfFirst = kFeatures * kUnits + 3 * kUnits;
    const auto behind_first = [](const Numbers& all) {
      return Numbers(all.begin() + kOfFirst, all.end());
    };
    EXPECT_LT(relative_error(behind_first(runs[0]), behind_first(exact)),
              std::string(mode) == "layer" ? 0.05 : 0.5);
  }
  // Exact derivatives behind the cut, and at the norm in front of it: no bias.
  EXPECT_LT(relative_error(runs_of(two_normalised, "likelihood:cut=out,copies=4", 1)[0], exact),
            0.02);
}

}  // namespace antichain::likelihood_tests
