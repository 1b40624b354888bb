#include "antichain/nn/normalization.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/nn/layer.h"
#include "antichain/nn/linear.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/session/eager.h"
#include "antichain/session/session.h"
#include "tests/nn/layer_gradients.h"
#include "tests/tensor/expect_error.h"

namespace antichain::nn::normalization_test {

constexpr double kRounding = 1e-12;

std::vector<double> state(Session& session, const std::string& name) {
  return session.states().get(name).to_vector<double>();
}

TEST(BatchNorm, KeepsStatisticsOfItsOwn) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 3, 2, 2});
  EXPECT_EQ(batch_norm(x, {.training = true}).shape(), x.shape());
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("batch_norm.scale [3]", "batch_norm.bias [3]"));
  for (const char* name : {"batch_norm.running_mean", "batch_norm.running_var"}) {
    ASSERT_NE(graph.find_state(name), nullptr);
    EXPECT_FALSE(graph.find_state(name)->trainable);
  }
}

// Two channels, three samples, three batches, by hand.
TEST(BatchNorm, MovesItsRunningStatistics) {
  constexpr double kMomentum = 0.3;
  Session session;
  Graph graph = session.graph(), evaluation = session.graph();
  const Var x = graph.input("x", f64, {"batch", 2});
  const Executable train =
      session.compile({batch_norm(x, {.training = true, .momentum = kMomentum})});
  const Executable evaluate =
      session.compile({batch_norm(evaluation.input("x", f64, {"batch", 2}))});
  std::array<double, 2> mean = {0, 0}, variance = {1, 1};
  for (std::uint64_t batch = 0; batch < 3; ++batch) {
    const Tensor values = random_values({3, 2}, batch, -2, 3);
    const double* v = values.data<double>();
    const std::vector<double> y = train({{"x", values}})[0].to_vector<double>();
    for (std::size_t c = 0; c < 2; ++c) {
      const double m = (v[c] + v[c + 2] + v[c + 4]) / 3;
      double squares = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        squares += (v[c + 2 * i] - m) * (v[c + 2 * i] - m);
      }
      EXPECT_NEAR(y[c], (v[c] - m) / std::sqrt(squares / 3 + 1e-5), kRounding);
      mean[c] = (1 - kMomentum) * mean[c] + kMomentum * m;
      variance[c] = (1 - kMomentum) * variance[c] + kMomentum * squares / 2;
    }
    EXPECT_THAT(state(session, "batch_norm.running_mean"),
                testing::Pointwise(testing::DoubleNear(kRounding), mean));
    EXPECT_THAT(state(session, "batch_norm.running_var"),
                testing::Pointwise(testing::DoubleNear(kRounding), variance));
  }
  const std::vector<double> before = state(session, "batch_norm.running_var");
  const Tensor one = Tensor::of<double>({1, 2}, {0.5, -1});
  const std::vector<double> y = evaluate({{"x", one}})[0].to_vector<double>();
  EXPECT_NEAR(y[0], (0.5 - mean[0]) / std::sqrt(variance[0] + 1e-5), kRounding);
  EXPECT_NEAR(y[1], (-1 - mean[1]) / std::sqrt(variance[1] + 1e-5), kRounding);
  EXPECT_EQ(state(session, "batch_norm.running_var"), before);
}

// One overflow of f16 would be in the statistics of all later steps. Channels without one move on.
TEST(BatchNorm, AnOverflowInHalfPrecisionLeavesTheStatistics) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f32, {"batch", 3});
  const Executable train =
      session.compile({batch_norm(cast(x, f16), {.training = true, .momentum = 0.5})});
  const float large = 1e6F;  // no f16
  const Tensor values = Tensor::of<float>({2, 3}, {1, large, 3, 2, 0, -large});
  train({{"x", values}});
  EXPECT_EQ(state(session, "batch_norm.running_mean"), (std::vector<double>{0.75, 0, 0}));
  EXPECT_EQ(state(session, "batch_norm.running_var"), (std::vector<double>{0.75, 1, 1}));
  train({{"x", Tensor::of<float>({2, 3}, {1, 1, 1, 3, 3, 3})}});
  EXPECT_EQ(state(session, "batch_norm.running_mean"), (std::vector<double>{1.375, 1, 1}));
}

TEST(BatchNorm, AStepOnTheLossUpdatesTheStatistics) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", 2});
  const Var hidden = relu(batch_norm(linear(x, 3), {.training = true}));
  const Var loss = mean(square(linear(hidden, 1, {.name = "head"})));
  for (const char* engine : {"", "forward"}) {
    std::vector<Var> outputs = grad(loss, parameters(graph), {.engine = engine});
    outputs.insert(outputs.begin(), loss);
    const Executable train = session.compile(outputs);
    const std::vector<double> before = state(session, "batch_norm.running_mean");
    train({{"x", random_values({5, 2}, 3)}});
    EXPECT_NE(state(session, "batch_norm.running_mean"), before) << engine;
  }
}

TEST(BatchNorm, WorksInEagerMode) {
  Session session;
  Eager eager(session);
  batch_norm(eager(random_values({5, 2}, 3)), {.training = true, .momentum = 1});
  EXPECT_NE(state(session, "batch_norm.running_mean"), (std::vector<double>{0, 0}));
}

// The variance of one value, which is 0, is kept as it is.
TEST(BatchNorm, OneSampleIsNoNumberByZero) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", 1});
  const Executable train = session.compile({batch_norm(x, {.training = true, .momentum = 1})});
  EXPECT_EQ(train({{"x", Tensor::of<double>({1, 1}, {7})}})[0].to_vector<double>()[0], 0);
  EXPECT_EQ(state(session, "batch_norm.running_mean")[0], 7);
  EXPECT_EQ(state(session, "batch_norm.running_var")[0], 0);
}

TEST(BatchNorm, HasTheGradientsOfFiniteDifferences) {
  for (const bool training : {true, false}) {
    expect_layer_gradients(
        [&](Graph&, const std::vector<Var>& in) {
          return batch_norm(in[0], {.training = training, .epsilon = 0.01});
        },
        {random_values({4, 3, 2}, 1)});
  }
}

// A 16-bit network computes what f32 finds for the same values, rounded once.
TEST(BatchNorm, TakesHalvesWithoutRoundingOnTheWay) {
  for (const DType dtype : {bf16, f16}) {
    for (const Shape& shape : {Shape{5, 3, 2, 7}, Shape{6, 3}}) {
      Session session;
      Graph graph = session.graph();
      const Dims dims = to_dims(shape);
      const Var x = graph.input("x", dtype, {dims.begin(), dims.end()});
      const Var scale = graph.input("scale", f32, {3}), bias = graph.input("bias", f32, {3});
      const auto outputs = [&](Var value) -> std::vector<Var> {
        const BatchNorm norm = antichain::batch_norm(value, scale, bias);
        const Var loss = sum(square(as_type(norm.output, f32))) + sum(norm.mean * norm.variance);
        std::vector<Var> found = {as_type(norm.output, dtype), norm.mean, norm.variance};
        for (const Var each : grad(loss, {x, scale, bias})) {
          found.push_back(each);
        }
        return found;
      };
      std::vector<Var> all = outputs(x), wide = outputs(cast(x, f32));
      all.insert(all.end(), wide.begin(), wide.end());
      const Results found = session.compile(all)({{"x", random_values(shape, 1).cast(dtype)},
                                                  {"scale", random_values({3}, 2).cast(f32)},
                                                  {"bias", random_values({3}, 3).cast(f32)}});
      EXPECT_TRUE(bit_equal(found[0], found[wide.size()]));
      EXPECT_EQ(found[1].dtype(), f32);
      for (std::size_t i = 1; i < wide.size(); ++i) {
        const auto a = found[i].cast(f64).to_vector<double>(),
                   b = found[wide.size() + i].cast(f64).to_vector<double>();
        EXPECT_THAT(a, testing::Pointwise(testing::DoubleNear(0.1), b)) << i << name(dtype);
      }
    }
  }
}

TEST(BatchNorm, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 3});
  expect_error<ShapeError>(
      "batch_norm: x must be [samples, channels, ...] with a known number of channels, its shape "
      "is [2, n]",
      [&] {
        batch_norm(graph.input("open", f32, {2, "n"}));
      });
  expect_error<InvalidArgument>("batch_norm: epsilon must be above 0, got 0",
                                [&] { batch_norm(x, {.epsilon = 0}); });
  expect_error<InvalidArgument>("batch_norm: momentum must be within [0, 1], got 1.5",
                                [&] { batch_norm(x, {.momentum = 1.5}); });
  expect_error<InvalidArgument>(
      "batch_norm: running statistics cannot be updated inside a chain, loop or cond", [&] {
        chain(graph.input("h", f32, {2, 3}), graph.input("xs", f32, {"time", 2, 3}),
              [](Var h, Var step) { return batch_norm(h + step, {.training = true}); });
      });
}

TEST(LayerNorm, NormalisesItsAxes) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", 2, 2});
  const Var y = layer_norm(x, {.axes = 2, .epsilon = 1});
  EXPECT_THAT(list_parameters(graph),
              testing::ElementsAre("layer_norm.scale [2, 2]", "layer_norm.bias [2, 2]"));
  const Tensor value = Tensor::of<double>({1, 2, 2}, {1, 3, 5, 7});
  const std::vector<double> found = session.compile({y})({{"x", value}})[0].to_vector<double>();
  for (std::size_t i = 0; i < found.size(); ++i) {  // mean 4, variance 5
    EXPECT_NEAR(found[i], (2 * static_cast<double>(i) - 3) / std::sqrt(6.0), kRounding);
  }
}

TEST(LayerNorm, HasTheGradientsOfFiniteDifferences) {
  expect_layer_gradients(
      [](Graph&, const std::vector<Var>& in) { return layer_norm(in[0], {.axes = 2}); },
      {random_values({3, 2, 4}, 2)});
}

TEST(LayerNorm, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch", 3});
  expect_error<ShapeError>("layer_norm: cannot normalise 3 axes of a value of shape [batch, 3]",
                           [&] { layer_norm(x, {.axes = 3}); });
  expect_error<ShapeError>(
      "layer_norm: the normalised axes must have known sizes, they are [batch, 3]",
      [&] { layer_norm(x, {.axes = 2}); });
  expect_error<InvalidArgument>("layer_norm: epsilon must be above 0, got -1",
                                [&] { layer_norm(x, {.epsilon = -1}); });
}

}  // namespace antichain::nn::normalization_test
