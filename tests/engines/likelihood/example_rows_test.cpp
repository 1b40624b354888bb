// Which losses noise is credited with.
#include <gtest/gtest.h>

#include "antichain/autodiff/grad.h"
#include "antichain/graph/engine_plan.h"
#include "antichain/nn/layers.h"
#include "antichain/nn/losses.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/engines/likelihood/perceptron.h"

namespace antichain::likelihood_tests {

// The spread of one run's gradient about the exact one, over several runs.
double mean_error(const std::function<Var(Graph&)>& build, const std::string& options) {
  const auto run = [&](const std::string& engine, int runs) {
    Session session({.seed = 5});
    Graph graph = session.graph();
    graph.choose_engines(EnginePlan::parse(engine));
    const Var losses = build(graph);
    const Executable step =
        session.compile(grad(mean(losses), parameters(graph), {.at = {losses}}));
    std::vector<Numbers> rows;
    for (int i = 0; i < runs; ++i) {
      Numbers row;
      const std::vector<Tensor> results = step({}).tensors();
      for (const Tensor& gradient : results) {
        const Numbers values = gradient.cast(f64).to_vector<double>();
        row.insert(row.end(), values.begin(), values.end());
      }
      rows.push_back(row);
    }
    return rows;
  };
  const Numbers exact = run("backprop", 1)[0];
  double error = 0;
  const std::vector<Numbers> rows = run("likelihood:" + options, 40);
  for (const Numbers& row : rows) {
    error += relative_error(row, exact) / 40;
  }
  EXPECT_LT(relative_error(mean_of(rows), exact), 0.5 * error + 0.02) << "no bias";
  return error;
}

// A ring of nodes, each linked to the next, two layers, two nodes with labels.
Var ring(Graph& graph) {
  constexpr std::int64_t kNodes = 12;
  std::vector<std::int64_t> columns, starts = {0};
  for (std::int64_t i = 0; i < kNodes; ++i) {
    columns.insert(columns.end(), {i, (i + 1) % kNodes});
    starts.push_back(2 * (i + 1));
  }
  const Csr neighbours{
      .values = full(graph, f64, {2 * kNodes}, 0.5),
      .columns = constant(graph, Tensor::of<std::int64_t>({2 * kNodes}, columns)),
      .row_starts = constant(graph, Tensor::of<std::int64_t>({kNodes + 1}, starts)),
      .num_columns = kNodes};
  Numbers features;
  for (std::int64_t i = 0; i < kNodes * 4; ++i) {
    features.push_back(std::sin(static_cast<double>(i * i)));
  }
  Var x = constant(graph, Tensor::of<double>({kNodes, 4}, features));
  x = tanh(nn::gcn(neighbours, x, 6, {.name = "first"}));
  x = nn::gcn(neighbours, x, 3, {.name = "second"});
  const Var labelled = constant(graph, Tensor::of<std::int64_t>({3}, {2, 7, 3}));
  return nn::cross_entropy(gather(x, labelled),
                           constant(graph, Tensor::of<std::int64_t>({3}, {0, 2, 1})));
}

TEST(ExampleRows, NodesCountWithTheLabelsThatTheyReach) {
  // Of 12 nodes at most 3 reach a given label over two links: with all losses for all nodes, the
  // error is several times as large.
  EXPECT_LT(mean_error(ring, "mode=layer,last=estimated,copies=32,noise=rademacher,sigma=0.01"),
            0.8);
}

Var sequences(Graph& graph) {
  Numbers values;
  for (std::int64_t i = 0; i < 5 * 16 * 3; ++i) {
    values.push_back(std::cos(static_cast<double>(i * i)));
  }
  const Var xs = constant(graph, Tensor::of<double>({5, 16, 3}, values));
  const Var all = nn::gru(xs, 4, {.name = "gru"}).all;
  return nn::cross_entropy(nn::linear(mean(all, {0}), 3, {.name = "out"}),
                           constant(graph, Tensor::zeros(i64, {16})));
}

TEST(ExampleRows, SequencesOfABatchStayApart) {
  EXPECT_LT(mean_error(sequences, "mode=layer,copies=32,sigma=0.01"), 0.8);
  EXPECT_LT(mean_error(sequences, "mode=full,copies=64,sigma=0.01,noise=gaussian"), 1.6);
}

// Statistics of a batch mix its examples: noise counts with all losses, without a bias.
Var normalised(Graph& graph) {
  Numbers values;
  for (std::int64_t i = 0; i < 8 * 3; ++i) {
    values.push_back(std::cos(static_cast<double>(i * i)));
  }
  const Var x = constant(graph, Tensor::of<double>({8, 3}, values));
  const Var z = nn::linear(x, 4, {.name = "first"});
  const Var centred = z - mean(z, {0}, true);
  return sum(square(nn::linear(tanh(centred), 2, {.name = "out"}) - 1), {1});
}

TEST(ExampleRows, ExamplesThatMixCountTogether) {
  mean_error(normalised, "mode=layer,copies=64,sigma=0.01");
}

}  // namespace antichain::likelihood_tests
