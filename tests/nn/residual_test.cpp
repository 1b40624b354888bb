#include "antichain/nn/residual.h"

#include <gmock/gmock.h>

#include <cmath>

#include "antichain/ops/shape/slicing.h"
#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::residual_test {

TEST(Residual, NamesItsParameters) {
  Graph graph;
  const Var u = graph.input("u", f32, {"batch", 6});
  const Chain found = residual(u, 5);
  EXPECT_EQ(found.last.shape(), u.shape());
  EXPECT_EQ(found.all.shape(), (Dims{5, graph.dim("batch"), 6}));
  const Var image = graph.input("image", f32, {"batch", 2, 7, 5});
  EXPECT_EQ(residual_conv(image, 3, {.name = "conv", .bias = false}).last.shape(), image.shape());
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("residual.weight [5, 6, 6]", "residual.bias [5, 6]",
                                   "conv.weight [3, 2, 2, 3, 3]"));
}

// One number through three layers, by hand.
TEST(Residual, TakesOneStepPerLayer) {
  Session session;
  Graph graph = session.graph();
  const Chain found = residual(graph.input("u", f64, {"batch", 1}), 3, {.step = 0.5});
  const Executable run = session.compile({found.last, found.all});
  session.states().set("residual.weight", Tensor::of<double>({3, 1, 1}, {1, -2, 3}));
  session.states().set("residual.bias", Tensor::of<double>({3, 1}, {0.1, 0.2, 0.3}));
  double u = 0.4;
  std::vector<double> all;
  for (const auto& [weight, bias] : {std::pair{1.0, 0.1}, {-2.0, 0.2}, {3.0, 0.3}}) {
    all.push_back(u += 0.5 * std::tanh(weight * u + bias));
  }
  const Results results = run({{"u", Tensor::of<double>({1, 1}, {0.4})}});
  EXPECT_NEAR(results.item<double>(), u, 1e-15);
  EXPECT_THAT(results[1].to_vector<double>(), testing::Pointwise(testing::DoubleNear(1e-15), all));
}

TEST(Residual, EveryLayerHasADrawOfItsOwn) {
  Session session;
  Graph graph = session.graph();
  session.compile({residual(graph.input("u", f32, {"batch", 8}), 40, {.weight = orthogonal}).last,
                   residual_conv(graph.input("x", f32, {1, 8, 3, 3}), 40, {.name = "conv"}).last});
  const std::vector<float> weights = session.states().get("residual.weight").to_vector<float>();
  for (std::size_t layer = 0; layer < 40; ++layer) {
    double squares = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      squares += weights[layer * 64 + i] * weights[layer * 64 + i];
    }
    EXPECT_NEAR(squares, 8, 1e-4);  // orthogonal each
    EXPECT_NE(weights[layer * 64], weights[(layer + 1) % 40 * 64]);
  }
  // The fans are those of one layer: 8 channels times 9 in and out.
  double squares = 0;
  const std::vector<float> windows = session.states().get("conv.weight").to_vector<float>();
  for (const float value : windows) {
    squares += value * value / static_cast<double>(windows.size());
  }
  EXPECT_NEAR(squares, 2.0 / 144, 0.05 * 2.0 / 144);
}

TEST(Residual, HasTheGradientsOfFiniteDifferences) {
  for (const char* engine : {"backprop", "forward", "scan"}) {
    const ResidualOptions options{.step = 0.3, .engine = engine};
    expect_layer_gradients(
        [&](Graph&, const std::vector<Var>& in) {
          const Chain found = residual(in[0], 3, options);
          return concat({expand_dims(found.last, 0), found.all}, 0);
        },
        {random_values({3, 2}, 1)});
    expect_layer_gradients(
        [&](Graph&, const std::vector<Var>& in) { return residual_conv(in[0], 2, options).last; },
        {random_values({2, 2, 3, 2}, 2)});
  }
}

TEST(Residual, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var u = graph.input("u", f32, {"batch", 3});
  expect_error<InvalidArgument>("residual: layers must be above 0, got 0", [&] { residual(u, 0); });
  expect_error<InvalidArgument>("residual: step must be above 0, got -1",
                                [&] { residual(u, 2, {.step = -1}); });
  expect_error<InvalidArgument>("residual: the activation is empty",
                                [&] { residual(u, 2, {.activation = nullptr}); });
  expect_error<InvalidArgument>("residual: the initialiser of 'residual.weight' is empty",
                                [&] { residual(u, 2, {.weight = nullptr}); });
  expect_error<ShapeError>(
      "residual_conv: u must be [samples, channels, height, width] with a known number of "
      "channels, its shape is [batch, 3]",
      [&] { residual_conv(u, 2); });
}

}  // namespace antichain::nn::residual_test
