// What the engine reports about itself, and what users set of the noise.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/engine_plan.h"
#include "antichain/graph/state_store.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/noise_site.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/threads.h"
#include "tests/engines/likelihood/perceptron.h"

namespace antichain::likelihood_tests {

// The reports of one run, by name.
std::map<std::string, double> reports_of(const std::string& options, int runs = 1) {
  Session session({.seed = 2});
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse("likelihood:" + options));
  const Perceptron model{.examples = 16, .widths = {16, 16, 4}};
  const Var losses = model.build(graph);
  const Executable run = session.compile(grad(mean(losses), parameters(graph), {.at = {losses}}));
  Numbers x(static_cast<std::size_t>(16 * model.features));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::cos(static_cast<double>(i * i));
  }
  for (int i = 0; i < runs; ++i) {
    run({{"x", Tensor::of<double>({16, model.features}, x)},
         {"labels", Tensor::zeros(DType::i64, {16})}});
  }
  std::map<std::string, double> reports;
  for (const std::string& name : session.states().names(kReportPrefix)) {
    reports[name.substr(kReportPrefix.size())] = session.states().get(name).item<double>();
  }
  return reports;
}

TEST(LikelihoodReports, StandardErrorFallsAndRunsAreCounted) {
  const auto few = reports_of("mode=layer,noise=gaussian,copies=8"),
             many = reports_of("mode=layer,noise=gaussian,copies=512");
  EXPECT_EQ(few.at("noisy_runs"), 16);
  EXPECT_EQ(many.at("noisy_runs"), 1024);
  EXPECT_GT(few.at("standard_error"), 4 * many.at("standard_error"));
  EXPECT_LT(many.at("standard_error"), 0.3);
  EXPECT_LT(reports_of("mode=layer,copies=32").at("standard_error"), 0.01) << "complete";
  EXPECT_TRUE(reports_of("mode=layer,report=no").empty());
}

TEST(LikelihoodReports, CosinesByParameter) {
  const auto found = reports_of("mode=layer,copies=64,sigma=0.001,watch=1");
  EXPECT_GT(found.at("cosine/layer_0.weight"), 0.99);
  EXPECT_GT(found.at("cosine/layer_2.bias"), 0.999);
  EXPECT_LT(reports_of("mode=layer,copies=2,noise=gaussian,watch=1").at("cosine/layer_0.weight"),
            0.9);
  EXPECT_TRUE(std::isnan(reports_of("mode=layer,watch=1000", 2).at("cosine/layer_0.weight")));
}

TEST(LikelihoodReports, CopiesGoWhereTheyBuyMost) {
  const auto even = reports_of("mode=layer,copies=16"),
             by_cost = reports_of("mode=layer,copies=16,allocation=cost");
  EXPECT_NEAR(by_cost.at("noisy_runs"), even.at("noisy_runs"), 4);
}

// For z = m + s e with normal e, the mean of (z - 1)^2 is (m - 1)^2 + s^2: its slope by log s is
// 2 s^2.
TEST(LikelihoodNoise, DeviationsHaveTheirGradient) {
  for (const char* noise : {"gaussian", "laplace", "gaussian,antithetic=yes"}) {
    Session session({.seed = 4});
    Graph graph = session.graph();
    graph.choose_engines(
        EnginePlan::parse(fmt::format("likelihood:mode=layer,copies=2000,noise={}", noise)));
    const Var weight = parameter("weight", full(graph, f64, {1, 2}, 1.5));
    const Var log_sigma =
        parameter("log_sigma", constant(graph, Tensor::of<double>({2}, {-1, 0.2})));
    const Var z = noise_site(matmul(ones(graph, f64, {3, 1}), weight), log_sigma);
    const Var losses = sum(square(z - 1), {1});
    const Executable run =
        session.compile(grad(sum(losses), {weight, log_sigma}, {.at = {losses}}));
    constexpr int kRuns = 60;
    std::vector<Numbers> by_sigma, by_weight;
    for (int i = 0; i < kRuns; ++i) {
      const std::vector<Tensor> found = run({}).tensors();
      by_weight.push_back(found[0].to_vector<double>());
      by_sigma.push_back(found[1].to_vector<double>());
    }
    for (std::size_t unit = 0; unit < 2; ++unit) {
      const double log = unit == 0 ? -1 : 0.2, want = 3 * 2 * std::exp(2 * log);
      const double mean = mean_of(by_sigma)[unit];
      double variance = 0;
      for (const Numbers& one : by_sigma) {
        variance += (one[unit] - mean) * (one[unit] - mean) / kRuns;
      }
      EXPECT_NEAR(mean, want, 4 * std::sqrt(variance / kRuns)) << noise;
      EXPECT_LT(std::sqrt(variance / kRuns), 0.1 * want + 0.02) << noise;
      EXPECT_NEAR(mean_of(by_weight)[unit], 3 * 2 * 0.5, 0.2) << noise;
    }
  }
}

// For z = m + L e the mean of zᵀQz is mᵀQm + tr(LᵀQL): its slope by L is the lower triangle of 2QL.
TEST(LikelihoodNoise, CovariancesHaveTheirGradient) {
  Session session({.seed = 4});
  Graph graph = session.graph();
  graph.choose_engines(EnginePlan::parse("likelihood:mode=layer,copies=4000,noise=gaussian"));
  const Var weight = parameter("weight", constant(graph, Tensor::of<double>({1, 2}, {0.5, -1})));
  const Var factor =
      parameter("factor", constant(graph, Tensor::of<double>({2, 2}, {0.8, 9, -0.6, 0.5})));
  const Var q = constant(graph, Tensor::of<double>({2, 2}, {2, 0.5, 0.5, 1}));
  const Var z = noise_site_with_factor(matmul(ones(graph, f64, {2, 1}), weight), factor);
  const Var losses = sum(z * matmul(z, q), {1});
  const Executable run = session.compile(grad(sum(losses), {weight, factor}, {.at = {losses}}));
  std::vector<Numbers> by_factor, by_weight;
  for (int i = 0; i < 60; ++i) {
    const std::vector<Tensor> found = run({}).tensors();
    by_weight.push_back(found[0].to_vector<double>());
    by_factor.push_back(found[1].to_vector<double>());
  }
  // Two rows each.
  const Numbers of_weight = {2 * 2 * (2 * 0.5 - 0.5), 2 * 2 * (0.25 - 1)};
  const Numbers of_factor = {4 * (2 * 0.8 - 0.3), 0, 4 * (0.4 - 0.6), 4 * 0.5};
  EXPECT_LT(relative_error(mean_of(by_weight), of_weight), 0.05);
  EXPECT_LT(relative_error(mean_of(by_factor), of_factor), 0.05);
}

TEST(LikelihoodNoise, SameBitsOnAnyNumberOfThreads) {
  const int before = num_threads();
  const auto run = [](int threads) {
    set_num_threads(threads);
    const Perceptron model{.examples = 64, .widths = {32, 32, 4}};
    return gradients(model, "likelihood:mode=layer,copies=32,noise=gaussian")[0];
  };
  const Numbers one = run(1), three = run(3);
  set_num_threads(before);
  EXPECT_EQ(one, three);
}

}  // namespace antichain::likelihood_tests
