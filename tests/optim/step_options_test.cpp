// What all optimisers share: which parameters, clipping, accumulation, loss scaling, names.
#include "antichain/optim/step_options.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/optim/adam.h"
#include "antichain/optim/sgd.h"
#include "antichain/session/session.h"
#include "tests/optim/trajectory.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim::step_options_test {

constexpr double kLr = 0.1;

Optimiser sgd_with(const StepOptions& step, double weight_decay = 0) {
  return
      [=](Var loss) { return sgd(loss, {.lr = kLr, .weight_decay = weight_decay, .step = step}); };
}

// Gradient descent on a gradient that `change` has changed.
Rule descent(const std::function<void(Point& gradient)>& change) {
  return [change](Point& point, const Point& gradient, int) {
    Point changed = gradient;
    change(changed);
    for (std::size_t i = 0; i < point.size(); ++i) {
      point[i] -= kLr * changed[i];
    }
  };
}

// Pascanu et al., 2013, algorithm 1.
void clip_norm(Point& gradient, double threshold) {
  double total = 0;
  for (double g : gradient) {
    total += g * g;
  }
  if (std::sqrt(total) > threshold) {
    for (double& g : gradient) {
      g *= threshold / std::sqrt(total);
    }
  }
}

void clip_value(Point& gradient, double limit) {
  for (double& g : gradient) {
    g = std::max(-limit, std::min(limit, g));
  }
}

TEST(StepOptions, ClipByNorm) {
  for (double threshold : {0.2, 0.5, 100.0}) {  // always, sometimes and never in the way
    expect_trajectory(descent([=](Point& g) { clip_norm(g, threshold); }),
                      sgd_with({.clip_norm = threshold}));
  }
}

TEST(StepOptions, ClipByValue) {
  expect_trajectory(descent([](Point& g) { clip_value(g, 0.1); }), sgd_with({.clip_value = 0.1}));
  const auto both = [](Point& g) {
    clip_norm(g, 0.5);
    clip_value(g, 0.2);
  };
  expect_trajectory(descent(both), sgd_with({.clip_norm = 0.5, .clip_value = 0.2}));
}

TEST(StepOptions, ClippingLeavesAGradientOfZeroAlone) {
  Session session;
  Graph graph = session.graph();
  const Var loss = square(parameter("w", scalar(graph, f64, 0)));
  session.compile({loss}, {.updates = sgd(loss, {.step = {.clip_norm = 1}})})({});
  EXPECT_EQ(session.states().get("w").item<double>(), 0);
}

TEST(StepOptions, WeightDecayOfSomeParametersOnly) {
  const auto rule = [](Point& point, const Point& gradient, int) {
    for (std::size_t i = 0; i < point.size(); ++i) {
      point[i] -= kLr * (gradient[i] + (i < kW ? 0.1 * point[i] : 0));
    }
  };
  expect_trajectory(rule, sgd_with({.decays = matrices()}, 0.1));
  expect_trajectory(rule, sgd_with({.decays = named("w")}, 0.1));
}

TEST(StepOptions, SomeParametersOnly) {
  expect_trajectory(descent([](Point& g) { std::fill(g.begin() + kW, g.end(), 0); }),
                    sgd_with({.parameters = named("w")}));
}

// A step every third run, with the mean of three gradients at the same point; Adam, so that a step
// too many would be seen.
void expect_accumulation(const StepOptions& options) {
  constexpr int kRuns = 3;
  AdamOptions adam_options{.lr = 0.05, .step = options};
  adam_options.step.accumulate = kRuns;
  const std::vector<Point> found =
      by_graph([&](Var loss) { return adam(loss, adam_options); }, kSteps);
  Point point = start(), mean{}, square{};
  for (int run = 0, step = 1; run + kRuns <= kSteps; run += kRuns, ++step) {
    Point total{}, gradient{};
    for (int n = 0; n < kRuns; ++n) {
      EXPECT_EQ(found[static_cast<std::size_t>(run + n)] !=
                    (run + n == 0 ? start() : found[static_cast<std::size_t>(run + n - 1)]),
                n == kRuns - 1);
      loss_at(point, run + n, gradient);
      for (std::size_t i = 0; i < point.size(); ++i) {
        total[i] += gradient[i] / kRuns;
      }
    }
    if (options.clip_norm) {
      clip_norm(total, *options.clip_norm);
    }
    for (std::size_t i = 0; i < point.size(); ++i) {
      mean[i] = 0.9 * mean[i] + 0.1 * total[i];
      square[i] = 0.999 * square[i] + 0.001 * total[i] * total[i];
      point[i] -= 0.05 * (mean[i] / (1 - std::pow(0.9, step))) /
                  (std::sqrt(square[i] / (1 - std::pow(0.999, step))) + 1e-8);
      EXPECT_NEAR(found[static_cast<std::size_t>(run + kRuns - 1)][i], point[i], 1e-12);
    }
  }
  const auto optimiser = [&](Var loss) { return adam(loss, adam_options); };
  EXPECT_EQ(by_graph(optimiser, kSteps, f64, 22), found) << "resumed between two steps";
}

TEST(StepOptions, AccumulationIsOneBigBatch) {
  expect_accumulation({});
  expect_accumulation({.clip_norm = 0.3});
  expect_accumulation({.loss_scaling = {.scale = 1024}});
  expect_accumulation({.loss_scaling = {.scale = 1024, .grow_after = 4}});
}

// The engine differentiates up to the cut, back-propagation the rest: the whole is what it was.
TEST(StepOptions, AGradientMayBeCut) {
  const auto build = [](const StepOptions& step, bool cut) {
    Session session;
    Graph graph = session.graph();
    const Var x = graph.input("x", f64, {4, 3}), w = parameter("w", full(graph, f64, {3}, 0.5));
    const Var losses = square(sum(sin(x * w), {1})), loss = mean(losses);
    StepOptions options = step;
    options.gradient_at = cut ? std::vector{losses} : std::vector<Var>();
    const Executable run =
        session.compile({loss}, {.updates = sgd(loss, {.lr = kLr, .step = options})});
    std::vector<double> values(12);
    std::iota(values.begin(), values.end(), 0.25);
    run({{"x", Tensor::of<double>({4, 3}, values)}});
    int engines = 0;
    for (std::uint32_t i = 0; i < graph.num_ops(); ++i) {
      const Op op = graph.op(OpId{i});
      const bool is_by_engine = engine_choice(op).name() == "forward";
      engines += is_by_engine ? 1 : 0;
      // What the engine is given ends where the gradient is cut.
      EXPECT_TRUE(!is_by_engine || op.output().rank() == (cut ? 1 : 0)) << op.describe();
    }
    EXPECT_EQ(engines, step.engine.is_backprop() ? 0 : 1);
    return session.states().get("w").to_vector<double>();
  };
  const std::vector<double> want = build({}, false);
  for (const StepOptions& step : {StepOptions{}, StepOptions{.engine = "forward"},
                                  StepOptions{.engine = "forward", .loss_scaling = {.scale = 8}}}) {
    for (const bool cut : {false, true}) {
      EXPECT_THAT(build(step, cut), testing::Pointwise(testing::DoubleNear(1e-14), want));
    }
  }
}

TEST(StepOptions, LossScalingChangesNothingElse) {
  const Rule plain = descent([](Point&) {});
  expect_trajectory(plain, sgd_with({.loss_scaling = {.scale = 1024}}));
  expect_trajectory(plain, sgd_with({.loss_scaling = {.scale = 3, .grow_after = 2}}));
  expect_trajectory(descent([](Point& g) { clip_norm(g, 0.3); }),
                    sgd_with({.clip_norm = 0.3, .loss_scaling = {.scale = 1024}}));
}

// The gradients of w and v are x and 1, so a fed infinity or NaN is one in a gradient.
struct ScaledModel {
  Session session;
  Graph graph = session.graph();
  Var x = graph.input("x", f32, {2});
  Var w = parameter("w", zeros(graph, f32, {2})), v = parameter("v", zeros(graph, f32, {}));
  Var nothing = parameter("nothing", zeros(graph, f32, {0}));
  Var loss = sum(x * w) + v + sum(nothing);
  Executable step;

  explicit ScaledModel(const StepOptions& options)
      : step(session.compile({loss}, {.updates = adam(loss, {.lr = 0.5, .step = options})})) {}

  void run(float x0) { step({{"x", Tensor::of<float>({2}, {x0, 1})}}); }
  template <class T = double>
  T get(const char* state) {
    return session.states().get(state).to_vector<T>()[0];
  }
};

TEST(StepOptions, DynamicLossScalingSkipsAndRecovers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  ScaledModel model({.loss_scaling = {.scale = 8, .grow_after = 2}});
  const auto expect = [&](std::int64_t step, double scale, std::int64_t good) {
    EXPECT_EQ(model.get<std::int64_t>("optimiser.step"), step);
    EXPECT_EQ(model.get("optimiser.loss_scale"), scale);
    EXPECT_EQ(model.get<std::int64_t>("optimiser.good_steps"), good);
  };
  model.run(1);
  expect(1, 8, 1);
  EXPECT_NEAR(model.get("w"), -0.5, 1e-6);
  const auto moved = [&] {
    return std::array{model.get("w"), model.get("v"), model.get("w.mean")};
  };
  for (float bad : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    const auto before = moved();
    const double scale = model.get("optimiser.loss_scale");
    model.run(bad);
    expect(1, scale / 2, 0);
    EXPECT_EQ(moved(), before);
  }
  model.run(1);
  expect(2, 1, 1);
  model.run(1);
  expect(3, 2, 0);
  model.run(1);
  model.run(1);
  expect(5, 4, 0);
  // Too large for f32 only because of the scale: it is halved until it fits.
  model.run(2e38F);
  expect(5, 2, 0);
  model.run(2e38F);
  expect(5, 1, 0);
  model.run(2e38F);
  expect(6, 1, 1);
}

TEST(StepOptions, ABadRunSpoilsTheWholeAccumulatedStep) {
  ScaledModel model({.accumulate = 2, .loss_scaling = {.scale = 8, .grow_after = 5}});
  model.run(std::numeric_limits<float>::infinity());
  EXPECT_EQ(model.get("optimiser.loss_scale"), 8);
  model.run(1);
  EXPECT_EQ(model.get("optimiser.loss_scale"), 4);
  EXPECT_EQ(model.get("v"), 0);
  model.run(1);
  model.run(1);  // the sum began anew
  EXPECT_NEAR(model.get("v"), -0.5, 1e-6);
  EXPECT_EQ(model.get<std::int64_t>("optimiser.step"), 1);
}

TEST(StepOptions, OtherElementTypesFollow) {
  const auto optimiser = [](Var loss) { return adamw(loss, {.lr = 0.02, .weight_decay = 0.1}); };
  const std::vector<Point> exact = by_graph(optimiser);
  const auto distance = [&](DType dtype) {
    const std::vector<Point> found = by_graph(optimiser, kSteps, dtype);
    double largest = 0;
    for (std::size_t i = 0; i < kNumParameters; ++i) {
      largest = std::max(largest, std::abs(found.back()[i] - exact.back()[i]));
    }
    return largest;
  };
  EXPECT_LT(distance(f32), 1e-4);
  EXPECT_LT(distance(f16), 0.05);
  EXPECT_LT(distance(bf16), 0.3);  // parameters themselves have 8 bits
}

TEST(StepOptions, BuffersOfSixteenBitParametersAreF32) {
  for (const auto& [dtype, expected] :
       {std::pair(bf16, f32), std::pair(f16, f32), std::pair(f32, f32), std::pair(f64, f64)}) {
    Graph graph;
    const Var loss = sum(square(parameter("w", ones(graph, dtype, {2}))));
    adam(loss, {.step = {.accumulate = 2}});
    for (const char* name : {"w.mean", "w.square", "w.gradient_sum"}) {
      EXPECT_EQ(graph.find_state(name)->type.dtype, expected);
    }
  }
}

TEST(StepOptions, ParametersThatTheLossDoesNotUseStayOut) {
  Session session;
  Graph graph = session.graph();
  const Var loss = square(parameter("w", scalar(graph, f32, 1)));
  parameter("unused", scalar(graph, f32, 1));
  EXPECT_EQ(sgd(loss).size(), 2U);  // of w and of the step
}

TEST(StepOptions, TwoOptimisersInOneGraph) {
  Session session;
  Graph graph = session.graph();
  const Var a = parameter("a", scalar(graph, f64, 1)), b = parameter("b", scalar(graph, f64, 1));
  const Var loss = square(a) + square(b);
  std::vector<Var> updates = sgd(loss, {.lr = 0.25, .step = {.parameters = named("a")}});
  const std::vector<Var> others =
      adam(loss, {.lr = 0.5, .step = {.parameters = named("b"), .name = "other"}});
  updates.insert(updates.end(), others.begin(), others.end());
  session.compile({loss}, {.updates = updates})({});
  EXPECT_NEAR(session.states().get("a").item<double>(), 0.5, 1e-12);
  EXPECT_NEAR(session.states().get("b").item<double>(), 0.5, 1e-7);
  EXPECT_EQ(session.states().get("other.step").item<std::int64_t>(), 1);
}

TEST(StepOptions, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var loss = square(parameter("w", scalar(graph, f32, 1)));
  const auto refused = [&](const std::string& message, const StepOptions& options) {
    expect_error<InvalidArgument>(message, [&] { sgd(loss, {.step = options}); });
  };
  refused("sgd: the filter takes none of the graph's parameters", {.parameters = named("x")});
  refused("sgd: clip_norm must be above 0, got 0", {.clip_norm = 0});
  refused("sgd: clip_value must be above 0, got -1", {.clip_value = -1});
  refused("sgd: accumulate must be above 0, got 0", {.accumulate = 0});
  refused("sgd: loss_scaling.scale must be above 0, got 0", {.loss_scaling = {.scale = 0}});
  refused("sgd: loss_scaling.grow_after must not be negative, got -1",
          {.loss_scaling = {.grow_after = -1}});
  refused("sgd: the name is empty", {.name = ""});
  parameter("unused", scalar(graph, f32, 1));
  EXPECT_THROW(sgd(loss, {.step = {.parameters = named("unused")}}), InvalidArgument);
  sgd(loss, {.step = {.name = "first"}});
  refused(
      "sgd: parameter 'w' is written after the loss reads it, by another optimiser perhaps; build "
      "one of them in a graph of its own",
      {.name = "second"});
  refused("sgd: the graph already has an optimiser called 'first'; give this one another name",
          {.name = "first"});
}

}  // namespace antichain::optim::step_options_test
