#include "antichain/optim/adam.h"

#include <gmock/gmock.h>

#include <cmath>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/optim/trajectory.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim::adam_test {

// The moments of Kingma and Ba, 2015, algorithm 1, with their correction.
struct Moments {
  double beta1, beta2, epsilon;
  Point mean = {}, square = {};

  double direction(std::size_t i, double gradient, int step) {
    mean[i] = beta1 * mean[i] + (1 - beta1) * gradient;
    square[i] = beta2 * square[i] + (1 - beta2) * gradient * gradient;
    const double corrected = mean[i] / (1 - std::pow(beta1, step));
    return corrected / (std::sqrt(square[i] / (1 - std::pow(beta2, step))) + epsilon);
  }
};

struct AdamCase {
  double lr = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;

  AdamOptions options() const {
    return {
        .lr = lr, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .weight_decay = weight_decay};
  }
};

class AdamTrajectory : public testing::TestWithParam<AdamCase> {};

TEST_P(AdamTrajectory, EqualsTheOneByHand) {
  const AdamCase& given = GetParam();
  Moments moments{given.beta1, given.beta2, given.epsilon};
  const auto rule = [&given, moments](Point& point, const Point& gradient, int step) mutable {
    for (std::size_t i = 0; i < point.size(); ++i) {
      const double g = gradient[i] + given.weight_decay * point[i];
      point[i] -= given.lr * moments.direction(i, g, step);
    }
  };
  expect_trajectory(rule, [&](Var loss) { return adam(loss, given.options()); });
}

// Loshchilov and Hutter, 2019, algorithm 2, line 12.
TEST_P(AdamTrajectory, WithDecoupledDecayEqualsTheOneByHand) {
  const AdamCase& given = GetParam();
  Moments moments{given.beta1, given.beta2, given.epsilon};
  const auto rule = [&given, moments](Point& point, const Point& gradient, int step) mutable {
    for (std::size_t i = 0; i < point.size(); ++i) {
      const double direction = moments.direction(i, gradient[i], step);
      point[i] -= given.lr * (direction + given.weight_decay * point[i]);
    }
  };
  expect_trajectory(rule, [&](Var loss) { return adamw(loss, given.options()); });
}

INSTANTIATE_TEST_SUITE_P(Options, AdamTrajectory,
                         testing::Values(AdamCase{}, AdamCase{.lr = 0.05},
                                         AdamCase{.lr = 0.05, .beta1 = 0.5, .beta2 = 0.9},
                                         AdamCase{.lr = 0.05, .epsilon = 0.1},
                                         AdamCase{.lr = 0.05, .weight_decay = 0.1}));

// The step writes three states at once; a read of any of them waits for it, and asks for it.
TEST(Adam, ReadsOfItsBuffersWaitForTheStep) {
  Session session;
  Graph graph = session.graph();
  const Var loss = square(parameter("w", scalar(graph, f64, 1)));
  adam(loss, {.lr = 0.5});
  const Executable read =
      session.compile({read_state(graph, "w.square"), read_state(graph, "w.mean")});
  const Results found = read({});
  EXPECT_NEAR(found[0].item<double>(), 0.001 * 4, 1e-15);  // the gradient is 2
  EXPECT_NEAR(found[1].item<double>(), 0.1 * 2, 1e-15);
  EXPECT_NEAR(session.states().get("w").item<double>(), 0.5, 1e-8);
}

TEST(Adam, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var loss = square(parameter("w", scalar(graph, f32, 1)));
  expect_error<InvalidArgument>("adam: beta1 must be within [0, 1), got 1",
                                [&] { adam(loss, {.beta1 = 1}); });
  expect_error<InvalidArgument>("adamw: beta2 must be within [0, 1), got -0.5",
                                [&] { adamw(loss, {.beta2 = -0.5}); });
  expect_error<InvalidArgument>("adam: epsilon must be above 0, got 0",
                                [&] { adam(loss, {.epsilon = 0}); });
}

}  // namespace antichain::optim::adam_test
