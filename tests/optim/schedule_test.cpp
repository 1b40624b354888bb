#include "antichain/optim/schedule.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim::schedule_test {

// The rates of the first steps.
std::vector<double> rates(const Schedule& schedule, int count) {
  Session session;
  Graph graph = session.graph();
  const Executable rate = session.compile({schedule(graph.input("step", i64, {}))});
  std::vector<double> result;
  for (std::int64_t step = 0; step < count; ++step) {
    result.push_back(rate({{"step", Tensor::scalar<std::int64_t>(step)}}).item<double>());
  }
  return result;
}

auto are(const std::vector<double>& expected) {
  return testing::Pointwise(testing::DoubleNear(1e-15), expected);
}

TEST(Schedule, IsConstantForANumber) { EXPECT_THAT(rates(0.1, 3), are({0.1, 0.1, 0.1})); }

TEST(Schedule, DecaysInSteps) {
  EXPECT_THAT(rates(decay_every(2, 1, 0.5), 7), are({1, 1, 0.5, 0.5, 0.25, 0.25, 0.125}));
  EXPECT_THAT(rates(decay_at({1, 4}, 2), 6), are({2, 0.2, 0.2, 0.2, 0.02, 0.02}));
  EXPECT_THAT(rates(decay_at({}, 2), 2), are({2, 2}));
}

// Loshchilov and Hutter, 2017, equation 5.
TEST(Schedule, FollowsACosineAndStays) {
  std::vector<double> expected;
  for (int step = 0; step <= 10; ++step) {
    expected.push_back(0.1 + 0.5 * 0.9 * (1 + std::cos(std::numbers::pi * step / 10)));
  }
  expected.insert(expected.end(), 3, 0.1);
  EXPECT_THAT(rates(cosine(10, 1, 0.1), 14), are(expected));
  EXPECT_THAT(rates(cosine(2, 1), 4), are({1, 0.5, 0, 0}));
}

TEST(Schedule, WarmsUpInFrontOfAnother) {
  EXPECT_THAT(rates(warm_up(4, 0.8), 6), are({0.2, 0.4, 0.6, 0.8, 0.8, 0.8}));
  EXPECT_THAT(rates(warm_up(2, 0.8, 0.5), 3), are({0.6, 0.8, 0.8}));
  EXPECT_THAT(rates(warm_up(2, decay_every(2, 1, 0.5)), 7), are({0.5, 1, 1, 1, 0.5, 0.5, 0.25}));
}

// Goyal et al., 2017: from the rate of the small batch to batch / base_batch times it.
TEST(Schedule, ScalesWithTheBatch) {
  const Schedule base = decay_every(3, 0.1, 0.1);
  EXPECT_THAT(rates(scaled_to_batch(base, {.batch = 1024}), 4), are({0.4, 0.4, 0.4, 0.04}));
  EXPECT_THAT(rates(scaled_to_batch(base, {.batch = 1024, .warm_up_steps = 3}), 7),
              are({0.2, 0.3, 0.4, 0.4, 0.4, 0.4, 0.04}));
  EXPECT_THAT(rates(scaled_to_batch(0.1, {.batch = 8, .base_batch = 16}), 1), are({0.05}));
}

TEST(Schedule, MayBeOnesOwn) {
  const Schedule inverse([](Var step) { return 1.0 / (step + 1.0); });
  EXPECT_THAT(rates(inverse, 4), are({1, 1.0 / 2, 1.0 / 3, 1.0 / 4}));
}

// What the optimiser uses is what is logged, and w follows: the gradient is 1.
TEST(Schedule, IsWhatTheOptimiserFollows) {
  const Schedule schedule = warm_up(2, decay_every(2, 1, 0.5));
  Session session;
  Graph graph = session.graph();
  const Var w = parameter("w", scalar(graph, f64, 0));
  const Var rate = schedule(step_count(graph));
  const Executable train = session.compile({rate}, {.updates = sgd(w, {.lr = schedule})});
  const Executable taken = session.compile({step_count(graph)});
  std::vector<double> logged;
  double total = 0;
  for (int step = 0; step < 7; ++step) {
    logged.push_back(train({}).item<double>());
    total += logged.back();
    EXPECT_NEAR(session.states().get("w").item<double>(), -total, 1e-15);
  }
  EXPECT_THAT(logged, are({0.5, 1, 1, 1, 0.5, 0.5, 0.25}));
  EXPECT_EQ(session.states().get("optimiser.step").item<std::int64_t>(), 7);
}

TEST(Schedule, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& message, const std::function<void()>& call) {
    expect_error<InvalidArgument>(message, call);
  };
  refused("learning rate: lr must be above 0, got -1", [] { Schedule(-1); });
  refused("decay_every: the number of steps must be above 0, got 0", [] { decay_every(0, 1); });
  refused("decay_every: lr must be above 0, got 0", [] { decay_every(1, 0); });
  refused("decay_every: factor must be above 0, got -2", [] { decay_every(1, 1, -2); });
  refused("decay_at: the steps must be above 0 and rise, step 3 follows 5", [] {
    decay_at({5, 3}, 1);
  });
  refused("decay_at: the steps must be above 0 and rise, step 0 follows 0",
          [] { decay_at({0}, 1); });
  refused("cosine: the number of steps must be above 0, got -1", [] { cosine(-1, 1); });
  refused("cosine: last must not be negative, got -1", [] { cosine(1, 1, -1); });
  refused("warm_up: the number of steps must be above 0, got 0", [] { warm_up(0, 1); });
  refused("warm_up: from must not be negative, got -1", [] { warm_up(1, 1, -1); });
  refused("scaled_to_batch: batches must be above 0, got 0 and 256",
          [] { scaled_to_batch(1, {}); });
  refused("scaled_to_batch: warm_up_steps must not be negative, got -1",
          [] { scaled_to_batch(1, {.batch = 1, .warm_up_steps = -1}); });
  Graph graph;
  refused("learning rate: the schedule is empty",
          [&] { Schedule(Schedule::Build())(scalar(graph, i64, 0)); });
  refused("learning rate: a schedule must return one f64",
          [&] { Schedule([](Var step) { return cast(step, f32); })(scalar(graph, i64, 0)); });
}

}  // namespace antichain::optim::schedule_test
