#include "antichain/nn/linear.h"

#include <gmock/gmock.h>

#include <cmath>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::linear_test {

TEST(Linear, NamesItsParameters) {
  Graph graph;
  const Var x = graph.input("x", f64, {"batch", 3});
  const ScopeGuard scope(graph, "model");
  const Var y = linear(x, 5, {.name = "first"});
  EXPECT_EQ(y.shape(), (Dims{graph.dim("batch"), 5}));
  EXPECT_EQ(y.dtype(), f64);
  linear(y, 2, {.bias = false});
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("model.first.weight [3, 5]", "model.first.bias [5]",
                                   "model.linear.weight [5, 2]"));
}

TEST(Linear, MultipliesAndAdds) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", "time", 2});
  const Var y = linear(x, 1, {.weight = constant(0.5)});
  const Executable run = session.compile({y});
  session.states().set("linear.bias", Tensor::of<float>({1}, {10}));
  const Tensor result = run({{"x", Tensor::of<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6})}})[0];
  EXPECT_EQ(result.shape(), (Shape{1, 3, 1}));
  EXPECT_THAT(result.to_vector<float>(), testing::ElementsAre(11.5F, 13.5F, 15.5F));
}

TEST(Linear, InsideAChainHasOneWeightForAllSteps) {
  Session session;
  Graph graph = session.graph();
  const Var state = graph.input("state", f32, {1, 2}), xs = graph.input("xs", f32, {"time", 1, 2});
  const Var last =
      chain(state, xs, [](Var h, Var x) { return linear(h, 2, {.weight = constant(1)}) + x; }).last;
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("linear.weight [2, 2]", "linear.bias [2]"));
  const Executable run = session.compile({last});
  const Results result = run({{"state", Tensor::of<float>({1, 2}, {1, 2})},
                              {"xs", Tensor::of<float>({2, 1, 2}, {10, 20, 30, 40})}});
  // (1, 2) -> (3, 3) + (10, 20) -> (36, 36) + (30, 40)
  EXPECT_THAT(result[0].to_vector<float>(), testing::ElementsAre(66, 76));
}

// Box initialisation: in the unit box every unit reaches 1 and no more.
TEST(Linear, StartsItsBiasFromTheWeight) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", 2});
  const Var y = mlp(x, {50}, {.weight = box(), .bias_start = box_bias()});
  const Tensor corners = Tensor::of<double>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Tensor found = session.compile({max(y, {0})})({{"x", corners}})[0];
  EXPECT_THAT(found.to_vector<double>(), testing::Each(testing::DoubleNear(1, 1e-13)));
}

TEST(Linear, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 3});
  linear(x, 2);
  expect_error<InvalidArgument>(
      "linear: there is already a parameter 'linear.weight'; give this layer another name",
      [&] { linear(x, 2); });
  expect_error<InvalidArgument>("linear: there is no x", [&] { linear(Var(), 2); });
  expect_error<InvalidArgument>("linear: out_features must be above 0, got 0",
                                [&] { linear(x, 0, {.name = "a"}); });
  expect_error<InvalidArgument>("linear: the name is empty", [&] { linear(x, 2, {.name = ""}); });
  expect_error<ShapeError>(
      "linear: x must have an axis of samples and one of features, its shape is [3]",
      [&] { linear(graph.input("vector", f32, {3}), 2, {.name = "b"}); });
  expect_error<ShapeError>(
      "linear: the last axis of x must have a known size above 0, its shape is [2, n]", [&] {
        linear(graph.input("open", f32, {2, "n"}), 2, {.name = "c"});
      });
  expect_error<TypeError>("linear: x must be floating-point, it is i64", [&] {
    linear(graph.input("ids", i64, {2, 3}), 2, {.name = "d"});
  });
}

TEST(Mlp, NamesItsLayersByNumber) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 7});
  EXPECT_EQ(mlp(x, {5, 3}).shape(), (Dims{graph.dim("batch"), 3}));
  mlp(x, {2}, {.name = "head", .bias = false});
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("mlp.0.weight [7, 5]", "mlp.0.bias [5]", "mlp.1.weight [5, 3]",
                                   "mlp.1.bias [3]", "head.0.weight [7, 2]"));
}

TEST(Mlp, AppliesTheActivationBetweenLayersOnly) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", 2});
  const Var with_tanh =
      mlp(x, {3, 2, 1}, {.name = "a", .activation = tanh, .weight = constant(0.5)});
  const Var with_relu = mlp(x, {3, 1}, {.name = "b", .weight = constant(-1)});
  const Results result =
      session.compile({with_tanh, with_relu})({{"x", Tensor::of<double>({2, 2}, {1, 3, -2, 1})}});
  const auto expected_tanh = [](double sum) { return std::tanh(1.5 * std::tanh(0.5 * sum)); };
  EXPECT_THAT(result[0].to_vector<double>(),
              testing::ElementsAre(testing::DoubleNear(expected_tanh(4), 1e-14),
                                   testing::DoubleNear(expected_tanh(-1), 1e-14)));
  EXPECT_THAT(result[1].to_vector<double>(), testing::ElementsAre(0, -3));
}

TEST(Mlp, LayersStartFromDifferentValues) {
  Session session;
  Graph graph = session.graph();
  session.compile({mlp(graph.input("x", f32, {"batch", 4}), {4, 4}, {.weight = he_normal})});
  EXPECT_FALSE(
      bit_equal(session.states().get("mlp.0.weight"), session.states().get("mlp.1.weight")));
}

TEST(Mlp, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 3});
  expect_error<InvalidArgument>("mlp: needs the width of at least one layer", [&] { mlp(x, {}); });
  expect_error<InvalidArgument>("mlp: there is no x", [&] { mlp(Var(), {1}); });
  expect_error<InvalidArgument>("mlp: the activation is empty", [&] {
    mlp(x, {2, 1}, {.activation = nullptr});
  });
  mlp(x, {2});
  expect_error<InvalidArgument>(
      "linear: there is already a parameter 'mlp.0.weight'; give this layer another name",
      [&] { mlp(x, {2}); });
}

TEST(Maxout, TakesTheGreatestOfItsPieces) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", 2});
  const Var y = maxout(x, 2, {.pieces = 3});
  EXPECT_EQ(y.shape(), (Dims{graph.dim("batch"), 2}));
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("maxout.weight [2, 6]", "maxout.bias [6]"));
  const Executable run = session.compile({y});
  session.states().set("maxout.weight",
                       Tensor::of<double>({2, 6}, {1, -1, 0, 2, 0, 0, 0, 0, 1, 0, -3, 0}));
  session.states().set("maxout.bias", Tensor::of<double>({6}, {0, 0, 0, 0, 0, 5}));
  // Pieces of (3, 2): 3 -3 2 and 6 -6 5; of (-4, 1): -4 4 1 and -8 -3 5.
  EXPECT_THAT(run({{"x", Tensor::of<double>({2, 2}, {3, 2, -4, 1})}})[0].to_vector<double>(),
              testing::ElementsAre(3, 6, 4, 5));
}

TEST(Maxout, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 3});
  expect_error<InvalidArgument>("maxout: pieces must be above 0, got 0",
                                [&] { maxout(x, 2, {.pieces = 0}); });
  expect_error<InvalidArgument>("maxout: out_features must be above 0, got -1",
                                [&] { maxout(x, -1); });
}

TEST(Linear, RefusesAnInitialiserThatIsEmpty) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 3});
  expect_error<InvalidArgument>("linear: the initialiser of 'linear.weight' is empty",
                                [&] { linear(x, 2, {.weight = nullptr}); });
}

}  // namespace antichain::nn::linear_test
