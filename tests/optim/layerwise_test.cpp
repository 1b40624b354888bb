// LARS and LAMB: rates that depend on the norm of each parameter.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"
#include "tests/optim/trajectory.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim::layerwise_test {

double norm_of(const Point& point, const Block& block) {
  double total = 0;
  for (std::size_t i = block.first; i < block.first + block.count; ++i) {
    total += point[i] * point[i];
  }
  return std::sqrt(total);
}

// You et al., 2017, equations 5 and 6; the parameters with fewer axes than w[3, 2] as by SGD when
// `only_matrices`.
void expect_lars(double momentum, double trust, double decay, bool only_matrices) {
  Point velocity{};
  const auto rule = [=](Point& point, const Point& gradient, int) mutable {
    const Point before = point;
    for (std::size_t n = 0; n < kBlocks.size(); ++n) {
      const bool adapts = n == 0 || !only_matrices;
      const double wd = adapts ? decay : 0;
      const double size = norm_of(before, kBlocks[n]), slope = norm_of(gradient, kBlocks[n]);
      const double rate = 0.3 * (adapts ? trust * size / (slope + wd * size) : 1);
      for (std::size_t i = kBlocks[n].first; i < kBlocks[n].first + kBlocks[n].count; ++i) {
        velocity[i] = momentum * velocity[i] + rate * (gradient[i] + wd * before[i]);
        point[i] = before[i] - velocity[i];
      }
    }
  };
  expect_trajectory(rule, [=](Var loss) {
    return lars(loss, {.lr = 0.3,
                       .momentum = momentum,
                       .trust = trust,
                       .weight_decay = decay,
                       .step = {.decays = only_matrices ? matrices() : ParameterFilter()}});
  });
}

TEST(Lars, EqualsTheOneByHand) {
  expect_lars(0.9, 0.02, 0, false);
  expect_lars(0.9, 0.02, 0.1, false);
  expect_lars(0, 0.1, 0.1, true);
}

// You et al., 2020, algorithm 2.
void expect_lamb(double decay, bool only_matrices) {
  constexpr double kLr = 0.02, kBeta1 = 0.8, kBeta2 = 0.95, kEpsilon = 1e-6;
  Point mean{}, square{};
  const auto rule = [=](Point& point, const Point& gradient, int step) mutable {
    Point change{};
    for (std::size_t n = 0; n < kBlocks.size(); ++n) {
      const bool adapts = n == 0 || !only_matrices;
      const Block& block = kBlocks[n];
      for (std::size_t i = block.first; i < block.first + block.count; ++i) {
        mean[i] = kBeta1 * mean[i] + (1 - kBeta1) * gradient[i];
        square[i] = kBeta2 * square[i] + (1 - kBeta2) * gradient[i] * gradient[i];
        change[i] = mean[i] / (1 - std::pow(kBeta1, step)) /
                        (std::sqrt(square[i] / (1 - std::pow(kBeta2, step))) + kEpsilon) +
                    (adapts ? decay : 0) * point[i];
      }
      const double ratio = adapts ? norm_of(point, block) / norm_of(change, block) : 1;
      for (std::size_t i = block.first; i < block.first + block.count; ++i) {
        point[i] -= kLr * ratio * change[i];
      }
    }
  };
  expect_trajectory(rule, [=](Var loss) {
    return lamb(loss, {.lr = kLr,
                       .beta1 = kBeta1,
                       .beta2 = kBeta2,
                       .epsilon = kEpsilon,
                       .weight_decay = decay,
                       .step = {.decays = only_matrices ? matrices() : ParameterFilter()}});
  });
}

TEST(Lamb, EqualsTheOneByHand) {
  expect_lamb(0, false);
  expect_lamb(0.1, false);
  expect_lamb(0.1, true);
}

// A parameter that is 0 has no norm to compare with; the ratio is 1 and it moves at all.
TEST(Layerwise, AParameterThatIsZeroMoves) {
  for (const bool adaptive : {false, true}) {
    Session session;
    Graph graph = session.graph();
    const Var w = parameter("w", zeros(graph, f64, {3}));
    const Var loss = sum(square(w - 1));
    const auto updates = adaptive ? lamb(loss, {.lr = 0.5}) : lars(loss, {.lr = 0.5});
    session.compile({loss}, {.updates = updates})({});
    // The gradient is -2: SGD goes to 1, Adam's first step has length 1 times lr.
    EXPECT_NEAR(session.states().get("w").to_vector<double>()[0], adaptive ? 0.5 : 1.0, 1e-8);
  }
}

TEST(Layerwise, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var loss = square(parameter("w", scalar(graph, f32, 1)));
  expect_error<InvalidArgument>("lars: momentum must be within [0, 1), got 1.5",
                                [&] { lars(loss, {.momentum = 1.5}); });
  expect_error<InvalidArgument>("lars: trust must be above 0, got 0",
                                [&] { lars(loss, {.trust = 0}); });
  expect_error<InvalidArgument>("lamb: epsilon must be above 0, got -1",
                                [&] { lamb(loss, {.epsilon = -1}); });
}

}  // namespace antichain::optim::layerwise_test
