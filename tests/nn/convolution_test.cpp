#include "antichain/nn/convolution.h"

#include <gmock/gmock.h>

#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::convolution_test {

TEST(Conv2d, NamesItsParameters) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 4, "height", 9});
  const Var y = conv2d(x, 6, {3, 2}, {.padding = {1, 0}, .groups = 2});
  EXPECT_EQ(y.shape(), (Dims{graph.dim("batch"), 6, graph.dim("height"), 8}));
  conv2d(y, 5, {1, 1}, {.name = "point", .bias = false});
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("conv.weight [6, 2, 3, 2]", "conv.bias [6]",
                                   "point.weight [5, 6, 1, 1]"));
}

TEST(Conv2d, SlidesItsWindow) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {1, 1, 3, 3});
  const Var y = conv2d(x, 1, {2, 2}, {.stride = {1, 1}, .dilation = {2, 2}, .weight = constant(1)});
  const Executable run = session.compile({y});
  session.states().set("conv.bias", Tensor::of<double>({1}, {10}));
  const Tensor image = Tensor::of<double>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(run({{"x", image}})[0].to_vector<double>(), testing::ElementsAre(10 + 1 + 3 + 7 + 9));
}

TEST(Conv2d, HasTheGradientsOfFiniteDifferences) {
  expect_layer_gradients(
      [](Graph&, const std::vector<Var>& in) {
        return conv2d(in[0], 4, {2, 3},
                      {.stride = {2, 1}, .padding = {1, 1}, .groups = 2, .bias = true});
      },
      {random_values({2, 2, 3, 4}, 1)});
}

TEST(Conv2d, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 4, 8, 8});
  expect_error<ShapeError>(
      "conv2d: x must be [samples, channels, height, width] with a known number of channels, its "
      "shape is [batch, 3, 8]",
      [&] {
        conv2d(graph.input("flat", f32, {"batch", 3, 8}), 2, {3, 3});
      });
  expect_error<InvalidArgument>("conv2d: out_channels must be above 0, got 0", [&] {
    conv2d(x, 0, {3, 3});
  });
  expect_error<InvalidArgument>("conv2d: the window must be a height and a width above 0, got [3]",
                                [&] { conv2d(x, 2, {3}); });
  expect_error<InvalidArgument>("conv2d: 3 groups do not divide 4 channels into 6", [&] {
    conv2d(x, 6, {3, 3}, {.groups = 3});
  });
  expect_error<TypeError>("conv2d: x must be floating-point, it is i32", [&] {
    conv2d(graph.input("ids", i32, {1, 1, 2, 2}), 1, {1, 1});
  });
}

TEST(GlobalAvgPool, AveragesOverSpace) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", 2, "height", 2});
  const Var y = global_avg_pool(x);
  EXPECT_EQ(y.shape(), (Dims{graph.dim("batch"), 2}));
  const Tensor images = Tensor::of<double>({1, 2, 2, 2}, {1, 2, 3, 6, -1, -1, 0, 0});
  EXPECT_THAT(session.compile({y})({{"x", images}})[0].to_vector<double>(),
              testing::ElementsAre(3, -0.5));
  expect_error<ShapeError>(
      "global_avg_pool: x must be [samples, channels, spatial...], its shape is [2, 3]", [&] {
        global_avg_pool(graph.input("rows", f32, {2, 3}));
      });
}

}  // namespace antichain::nn::convolution_test
