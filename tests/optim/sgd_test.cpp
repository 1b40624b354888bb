#include "antichain/optim/sgd.h"

#include <gmock/gmock.h>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/optim/trajectory.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim::sgd_test {

struct SgdCase {
  double lr, momentum = 0, weight_decay = 0;
  std::string engine = {};
  bool nesterov = false;
};

class SgdTrajectory : public testing::TestWithParam<SgdCase> {};

// Sutskever et al., 2013, equations 1 and 2, with lr taken out of the velocity.
TEST_P(SgdTrajectory, EqualsTheOneByHand) {
  const SgdCase& given = GetParam();
  Point velocity{};
  const auto rule = [&, velocity](Point& point, const Point& gradient, int) mutable {
    for (std::size_t i = 0; i < point.size(); ++i) {
      const double slope = gradient[i] + given.weight_decay * point[i];
      velocity[i] = given.momentum * velocity[i] + slope;
      point[i] -= given.lr * (given.nesterov ? slope + given.momentum * velocity[i] : velocity[i]);
    }
  };
  expect_trajectory(rule, [&](Var loss) {
    return sgd(loss, {.lr = given.lr,
                      .momentum = given.momentum,
                      .nesterov = given.nesterov,
                      .weight_decay = given.weight_decay,
                      .step = {.engine = given.engine}});
  });
}

INSTANTIATE_TEST_SUITE_P(Options, SgdTrajectory,
                         testing::Values(SgdCase{.lr = 0.01}, SgdCase{.lr = 0.1, .momentum = 0.9},
                                         SgdCase{.lr = 0.1, .weight_decay = 0.05},
                                         SgdCase{0.05, 0.5, 0.01},
                                         SgdCase{0.05, 0.5, 0, "backprop"},
                                         SgdCase{0.05, 0.9, 0.01, "", true},
                                         SgdCase{0.05, 0.5, 0, "forward"}));

TEST(Sgd, KeepsTheVelocityInABuffer) {
  Graph graph;
  const Var w = parameter("w", ones(graph, f32, {2}));
  EXPECT_EQ(sgd(sum(w * w), {.momentum = 0.9}).size(), 2U);  // w and its velocity; the step
  ASSERT_NE(graph.find_state("w.momentum"), nullptr);
  EXPECT_FALSE(graph.find_state("w.momentum")->trainable);
}

TEST(Sgd, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var x = graph.input("x", f32, {"batch"});
  expect_error<InvalidArgument>("sgd: the loss depends on no parameter", [&] { sgd(mean(x)); });
  const Var loss = mean(x * parameter("w", scalar(graph, f32, 1)));
  expect_error<InvalidArgument>("sgd: there is no loss", [] { sgd(Var()); });
  expect_error<ShapeError>("sgd: the loss must be one number, its shape is [batch]; take its mean",
                           [&] { sgd(x); });
  expect_error<InvalidArgument>("learning rate: lr must be above 0, got 0",
                                [&] { sgd(loss, {.lr = 0}); });
  expect_error<InvalidArgument>("sgd: nesterov needs a momentum above 0",
                                [&] { sgd(loss, {.nesterov = true}); });
  expect_error<InvalidArgument>("sgd: momentum must be within [0, 1), got 1",
                                [&] { sgd(loss, {.momentum = 1}); });
  expect_error<InvalidArgument>("sgd: weight_decay must not be negative, got -1",
                                [&] { sgd(loss, {.weight_decay = -1}); });
}

}  // namespace antichain::optim::sgd_test
