// RMSprop and Adagrad.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adagrad.h"
#include "antichain/optim/rmsprop.h"
#include "tests/optim/trajectory.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim::adaptive_test {

// Tieleman and Hinton, 2012, lecture 6.5, slide 29; momentum on the normalised gradient.
void expect_rmsprop(double decay, double epsilon, double momentum, double weight_decay) {
  Point square{}, velocity{};
  const auto rule = [=](Point& point, const Point& gradient, int) mutable {
    for (std::size_t i = 0; i < point.size(); ++i) {
      const double g = gradient[i] + weight_decay * point[i];
      square[i] = decay * square[i] + (1 - decay) * g * g;
      velocity[i] = momentum * velocity[i] + g / (std::sqrt(square[i]) + epsilon);
      point[i] -= 0.01 * velocity[i];
    }
  };
  expect_trajectory(rule, [=](Var loss) {
    return rmsprop(
        loss,
        {.decay = decay, .epsilon = epsilon, .momentum = momentum, .weight_decay = weight_decay});
  });
}

TEST(Rmsprop, EqualsTheOneByHand) {
  expect_rmsprop(0.99, 1e-8, 0, 0);
  expect_rmsprop(0.9, 1e-3, 0, 0.1);
  expect_rmsprop(0.9, 1e-3, 0.5, 0);
  expect_rmsprop(0.99, 1e-8, 0.5, 0.1);
}

// Duchi et al., 2011, figure 1 with diagonal matrices.
void expect_adagrad(double epsilon, double initial, double weight_decay) {
  Point total;
  total.fill(initial);
  const auto rule = [=](Point& point, const Point& gradient, int) mutable {
    for (std::size_t i = 0; i < point.size(); ++i) {
      const double g = gradient[i] + weight_decay * point[i];
      total[i] += g * g;
      point[i] -= 0.1 * g / (std::sqrt(total[i]) + epsilon);
    }
  };
  expect_trajectory(rule, [=](Var loss) {
    return adagrad(
        loss, {.lr = 0.1, .epsilon = epsilon, .initial = initial, .weight_decay = weight_decay});
  });
}

TEST(Adagrad, EqualsTheOneByHand) {
  expect_adagrad(1e-10, 0, 0);
  expect_adagrad(1e-3, 0.1, 0);
  expect_adagrad(1e-10, 0, 0.1);
}

TEST(Adaptive, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var loss = square(parameter("w", scalar(graph, f32, 1)));
  expect_error<InvalidArgument>("rmsprop: decay must be within [0, 1), got 1",
                                [&] { rmsprop(loss, {.decay = 1}); });
  expect_error<InvalidArgument>("rmsprop: epsilon must be above 0, got 0",
                                [&] { rmsprop(loss, {.epsilon = 0}); });
  expect_error<InvalidArgument>("rmsprop: momentum must be within [0, 1), got -1",
                                [&] { rmsprop(loss, {.momentum = -1}); });
  expect_error<InvalidArgument>("adagrad: epsilon must be above 0, got 0",
                                [&] { adagrad(loss, {.epsilon = 0}); });
  expect_error<InvalidArgument>("adagrad: initial must not be negative, got -1",
                                [&] { adagrad(loss, {.initial = -1}); });
}

}  // namespace antichain::optim::adaptive_test
