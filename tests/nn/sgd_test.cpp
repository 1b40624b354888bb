#include "antichain/nn/sgd.h"

#include <gmock/gmock.h>

#include <array>

#include "antichain/ops/creation.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/matmul.h"
#include "antichain/ops/reduce.h"
#include "antichain/ops/state_ops.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim {
namespace {

constexpr std::size_t kRows = 5, kColumns = 3;
constexpr std::array<double, kRows* kColumns> kX = {0.3,  -1.2, 0.5,  2.0, 0.1,  -0.7, 1.1, 0.9,
                                                    -0.4, 0.8,  -0.6, 1.7, -1.5, 0.2,  0.6};
constexpr std::array<double, kRows> kY = {1.0, -0.5, 2.0, 0.3, -1.1};
constexpr std::array<double, kColumns> kStart = {0.5, -0.25, 0.125};
constexpr double kStartOffset = 0.1;

struct Trajectory {
  std::vector<double> losses;
  std::vector<double> weights;  // at the end, the offset last
};

// Linear regression, with the gradient of the mean squared error written out.
Trajectory by_hand(int steps, const SgdOptions& options) {
  std::vector<double> w(kStart.begin(), kStart.end());
  w.push_back(kStartOffset);
  std::vector<double> velocity(kColumns + 1), gradient(kColumns + 1);
  Trajectory result;
  for (int step = 0; step < steps; ++step) {
    std::fill(gradient.begin(), gradient.end(), 0);
    double loss = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      double error = w[kColumns] - kY[i];
      for (std::size_t j = 0; j < kColumns; ++j) {
        error += kX[i * kColumns + j] * w[j];
      }
      loss += error * error / kRows;
      for (std::size_t j = 0; j < kColumns; ++j) {
        gradient[j] += 2 * error * kX[i * kColumns + j] / kRows;
      }
      gradient[kColumns] += 2 * error / kRows;
    }
    result.losses.push_back(loss);
    for (std::size_t j = 0; j <= kColumns; ++j) {
      velocity[j] = options.momentum * velocity[j] + gradient[j] + options.weight_decay * w[j];
      w[j] -= options.lr * velocity[j];
    }
  }
  result.weights = w;
  return result;
}

Trajectory by_graph(int steps, const SgdOptions& options) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", f64, {"batch", 3}), y = graph.input("y", f64, {"batch", 1});
  const Var w = parameter("w", constant(graph, Tensor::of<double>({3, 1}, kStart)));
  const Var offset = parameter("offset", scalar(graph, f64, kStartOffset));
  const Var loss = mean(square(matmul(x, w) + offset - y));
  const Executable train = session.compile({loss}, {.updates = sgd(loss, options)});
  Trajectory result;
  for (int step = 0; step < steps; ++step) {
    result.losses.push_back(
        train({{"x", Tensor::of<double>({5, 3}, kX)}, {"y", Tensor::of<double>({5, 1}, kY)}})
            .item<double>());
  }
  result.weights = session.states().get("w").to_vector<double>();
  result.weights.push_back(session.states().get("offset").item<double>());
  return result;
}

class SgdTrajectory : public testing::TestWithParam<SgdOptions> {};

TEST_P(SgdTrajectory, EqualsTheOneByHand) {
  constexpr int kSteps = 25;
  constexpr double kRounding = 1e-12;  // values are about 1
  const Trajectory expected = by_hand(kSteps, GetParam()), found = by_graph(kSteps, GetParam());
  EXPECT_THAT(found.losses, testing::Pointwise(testing::DoubleNear(kRounding), expected.losses));
  EXPECT_THAT(found.weights, testing::Pointwise(testing::DoubleNear(kRounding), expected.weights));
  EXPECT_LT(found.losses.back(), found.losses.front());
}

INSTANTIATE_TEST_SUITE_P(
    Options, SgdTrajectory,
    testing::Values(SgdOptions{}, SgdOptions{.lr = 0.1, .momentum = 0.9},
                    SgdOptions{.lr = 0.1, .weight_decay = 0.05},
                    SgdOptions{.lr = 0.05, .momentum = 0.5, .weight_decay = 0.01},
                    SgdOptions{.lr = 0.05, .momentum = 0.5, .engine = "backprop"},
                    SgdOptions{.lr = 0.05, .momentum = 0.5, .engine = "forward"}));

TEST(Sgd, KeepsTheVelocityInABuffer) {
  Graph graph;
  const Var w = parameter("w", ones(graph, f32, {2}));
  EXPECT_EQ(sgd(sum(w * w), {.momentum = 0.9}).size(), 1U);
  ASSERT_NE(graph.find_state("w.momentum"), nullptr);
  EXPECT_FALSE(graph.find_state("w.momentum")->trainable);
}

TEST(Sgd, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch"});
  expect_error<InvalidArgument>("sgd: the graph has no parameters", [&] { sgd(mean(x)); });
  const Var loss = mean(x * parameter("w", scalar(graph, f32, 1)));
  expect_error<InvalidArgument>("sgd: there is no loss", [] { sgd(Var()); });
  expect_error<ShapeError>("sgd: the loss must be one number, its shape is [batch]; take its mean",
                           [&] { sgd(x); });
  expect_error<InvalidArgument>("sgd: lr must be above 0, got 0", [&] { sgd(loss, {.lr = 0}); });
  expect_error<InvalidArgument>("sgd: momentum must be within [0, 1), got 1",
                                [&] { sgd(loss, {.momentum = 1}); });
  expect_error<InvalidArgument>("sgd: weight_decay must not be negative, got -1",
                                [&] { sgd(loss, {.weight_decay = -1}); });
  parameter("unused", scalar(graph, f32, 1));
  EXPECT_THROW(sgd(loss), InvalidArgument);  // the message is autodiff's
}

}  // namespace
}  // namespace antichain::optim
