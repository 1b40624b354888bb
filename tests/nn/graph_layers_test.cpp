#include "antichain/nn/graph_layers.h"

#include <gmock/gmock.h>

#include "antichain/ops/shape/creation.h"
#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::graph_layers_test {

// Edges 0 -> 1 (weight 0.5), 0 -> 2 (2), 2 -> 2 (-1); node 1 sees nobody.
Csr adjacency(Var values) {
  Graph& graph = values.graph();
  return {.values = values,
          .columns = constant(graph, Tensor::of<std::int64_t>({3}, {1, 2, 2})),
          .row_starts = constant(graph, Tensor::of<std::int64_t>({4}, {0, 2, 2, 3})),
          .num_columns = 3};
}

TEST(Gcn, SumsOverNeighbours) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {3, 2});
  const Csr edges = adjacency(constant(graph, Tensor::of<double>({3}, {0.5, 2, -1})));
  const Var y = gcn(edges, x, 1, {.weight = constant(1)});
  EXPECT_THAT(list_parameters(graph), testing::ElementsAre("gcn.weight [2, 1]", "gcn.bias [1]"));
  const Executable run = session.compile({y});
  session.states().set("gcn.bias", Tensor::of<double>({1}, {100}));
  // The nodes' features add up to 3, 7, 11.
  EXPECT_THAT(run({{"x", Tensor::of<double>({3, 2}, {1, 2, 3, 4, 5, 6})}})[0].to_vector<double>(),
              testing::ElementsAre(100 + 3.5 + 22, 100, 100 - 11));
}

TEST(Gcn, HasTheGradientsOfFiniteDifferences) {
  expect_layer_gradients(
      [](Graph&, const std::vector<Var>& in) { return gcn(adjacency(in[1]), in[0], 2); },
      {random_values({3, 4}, 1), random_values({3}, 2)});
}

TEST(Gcn, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {3, 2});
  const Csr edges = adjacency(graph.input("values", f32, {3}));
  expect_error<ShapeError>("gcn: x must be [nodes, features], its shape is [2, 3, 2]", [&] {
    gcn(edges, graph.input("cube", f32, {2, 3, 2}), 2);
  });
  expect_error<InvalidArgument>("gcn: out_features must be above 0, got 0",
                                [&] { gcn(edges, x, 0); });
  expect_error<InvalidArgument>("gcn: the adjacency has no values", [&] { gcn({}, x, 2); });
}

}  // namespace antichain::nn::graph_layers_test
