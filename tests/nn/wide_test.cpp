#include "antichain/nn/wide.h"

#include <gmock/gmock.h>

#include "antichain/nn/linear.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::wide_test {

using testing::ElementsAre;

// Labels of four examples, of which the second has none and the last two of them.
LabelSets some_labels(Graph& graph) {
  return {.labels = constant(graph, Tensor::of<std::int64_t>({4}, {3, 0, 7, 1})),
          .row_starts = constant(graph, Tensor::of<std::int64_t>({5}, {0, 1, 1, 2, 4}))};
}

TEST(Wide, HasParametersByUnit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 5});
  EXPECT_EQ(wide_mlp(x, {7, 9}, {.name = "net"}).shape(), (Dims{x.dim(0), 9}));
  EXPECT_THAT(list_parameters(graph), ElementsAre("net.0.weight [7, 5]", "net.0.bias [7]",
                                                  "net.1.weight [9, 7]", "net.1.bias [9]"));
}

TEST(Wide, IsLinearLayersWithReluBetween) {
  Session session;
  Graph graph = session.graph();
  const Var x = constant(graph, random_values({4, 5}, 3));
  const Var values = wide_mlp(x, {7, 9}, {.weight = normal(0, 1)});
  const std::vector<Var> own = parameters(graph);
  const Var hidden = relu(matmul(x, transpose(own[0])) + own[1]);
  const Var expected = matmul(hidden, transpose(own[2])) + own[3];
  const Results found = session.compile({values, expected})({});
  const auto left = found[0].to_vector<double>(), right = found[1].to_vector<double>();
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_NEAR(left[i], right[i], 1e-12);
  }
}

TEST(Wide, LossesAreThoseOfTheValues) {
  Session session;
  Graph graph = session.graph(), other = session.graph();
  const Tensor x = random_values({4, 5}, 3);
  const WideOptions options{.name = "out", .weight = normal(0, 1)};
  const Var losses = wide_losses(constant(graph, x), {7, 9}, some_labels(graph), options);
  const Var values = wide_mlp(constant(other, x), {7, 9}, options);
  const auto left = session.compile({losses})({})[0].to_vector<double>(),
             right = session.compile({multi_label_softmax(values, some_labels(other))})({})[0]
                         .to_vector<double>();
  ASSERT_EQ(left.size(), 4U);
  EXPECT_EQ(left[1], 0) << "no labels";
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_NEAR(left[i], right[i], 1e-12);
  }
}

TEST(Wide, Gradients) {
  expect_layer_gradients(
      [](Graph&, const std::vector<Var>& in) {
        return wide_mlp(in[0], {7, 9}, {.weight = normal(0, 1)});
      },
      {random_values({4, 5}, 5)});
  expect_layer_gradients(
      [](Graph& graph, const std::vector<Var>& in) {
        return wide_losses(in[0], {7, 9}, some_labels(graph), {.weight = normal(0, 1)});
      },
      {random_values({4, 5}, 5)});
}

TEST(Wide, SaysWhatIsWrong) {
  Graph graph;
  const Var x = graph.input("x", f32, {4, 5});
  expect_error<InvalidArgument>("wide_mlp: needs the width of at least one layer",
                                [&] { wide_mlp(x, {}); });
  expect_error<InvalidArgument>("wide_mlp: a width must be above 0, got 0", [&] {
    wide_mlp(x, {3, 0});
  });
  expect_error<InvalidArgument>("wide_losses: give labels with row_starts, not multi_hot", [&] {
    wide_losses(x, {3}, {.multi_hot = graph.input("hot", f32, {4, 3})});
  });
}

}  // namespace antichain::nn::wide_test
