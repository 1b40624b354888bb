#include "antichain/optim/lbfgs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/session/session.h"
#include "tests/optim/trajectory.h"
#include "tests/tensor/expect_error.h"

namespace antichain::optim::lbfgs_test {

double dot(const Point& a, const Point& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Point sum_of(const Point& a, double factor, const Point& b) {
  Point result = a;
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] += factor * b[i];
  }
  return result;
}

struct Pair {
  Point s, y;
};

// Nocedal and Wright, 2006, algorithm 7.4 with equation 7.20.
Point two_loops(Point q, const std::deque<Pair>& pairs) {
  std::vector<double> alphas(pairs.size());
  for (std::size_t i = pairs.size(); i-- > 0;) {
    alphas[i] = dot(pairs[i].s, q) / dot(pairs[i].s, pairs[i].y);
    q = sum_of(q, -alphas[i], pairs[i].y);
  }
  if (!pairs.empty()) {
    const Pair& last = pairs.back();
    const double scale = dot(last.s, last.y) / dot(last.y, last.y);
    for (double& element : q) {
      element *= scale;
    }
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double beta = dot(pairs[i].y, q) / dot(pairs[i].s, pairs[i].y);
    q = sum_of(q, alphas[i] - beta, pairs[i].s);
  }
  return q;
}

// One iteration with the line search of Lewis and Overton, 2013, algorithm 2.6.
Rule lbfgs_rule(const LbfgsOptions& options) {
  return
      [options, pairs = std::deque<Pair>()](Point& point, const Point& gradient, int step) mutable {
        const int batch = step - 1;
        Point ignored{};
        const double loss = loss_at(point, batch, ignored);
        const Point uphill = two_loops(gradient, pairs);
        const double slope = -dot(gradient, uphill);
        double size = 0;
        for (double g : gradient) {
          size += std::abs(g);
        }
        double t = options.lr * (pairs.empty() ? std::min(1.0, 1 / size) : 1);
        double low = 0, high = std::numeric_limits<double>::infinity();
        Point at_low = gradient;
        for (std::int64_t n = 0; n < options.max_evaluations; ++n) {
          Point there{};
          const double value = loss_at(sum_of(point, -t, uphill), batch, there);
          if (value > loss + options.decrease * t * slope) {
            high = t;
          } else {
            low = t;
            at_low = there;
            if (-dot(there, uphill) >= options.curvature * slope) {
              break;
            }
          }
          t = std::isfinite(high) ? (low + high) / 2 : 2 * low;
        }
        Pair pair{};
        for (std::size_t i = 0; i < point.size(); ++i) {
          pair.s[i] = -low * uphill[i];
          pair.y[i] = at_low[i] - gradient[i];
          point[i] += pair.s[i];
        }
        if (dot(pair.s, pair.y) > 1e-10 * std::sqrt(dot(pair.s, pair.s) * dot(pair.y, pair.y))) {
          pairs.push_back(pair);
          if (pairs.size() > static_cast<std::size_t>(options.history)) {
            pairs.pop_front();
          }
        }
      };
}

// One iteration with one gradient, whose pair is the last step and what the gradient changed by.
Rule one_gradient_rule(const LbfgsOptions& options) {
  return [options, pairs = std::deque<Pair>(), last = Pair{}](Point& point, const Point& gradient,
                                                              int step) mutable {
    Pair pair = last;
    for (std::size_t i = 0; i < point.size(); ++i) {
      pair.y[i] = gradient[i] - last.y[i];
    }
    if (dot(pair.s, pair.y) > 1e-10 * std::sqrt(dot(pair.s, pair.s) * dot(pair.y, pair.y))) {
      pairs.push_back(pair);
      if (pairs.size() > static_cast<std::size_t>(options.history)) {
        pairs.pop_front();
      }
    }
    const Point uphill = two_loops(gradient, pairs);
    double size = 0;
    for (double g : gradient) {
      size += std::abs(g);
    }
    double t = options.lr * (pairs.empty() ? std::min(1.0, 1 / size) : 1);
    if (options.line_search == LineSearch::backtracking) {
      Point ignored{};
      const double loss = loss_at(point, step - 1, ignored), slope = -dot(gradient, uphill);
      std::int64_t evaluations = 0;
      const auto is_too_long = [&] {
        return loss_at(sum_of(point, -t, uphill), step - 1, ignored) >
               loss + options.decrease * t * slope;
      };
      for (; evaluations < options.max_evaluations && is_too_long(); ++evaluations) {
        t /= 2;
      }
      t = evaluations == options.max_evaluations ? 0 : t;
    }
    for (std::size_t i = 0; i < point.size(); ++i) {
      last.s[i] = -t * uphill[i];
      point[i] += last.s[i];
    }
    last.y = gradient;
  };
}

void expect_one_gradient(const LbfgsOptions& options) {
  constexpr double kRounding = 1e-8;  // steps of lr alone go further off, and come back
  expect_trajectory(
      one_gradient_rule(options), [&](Var loss) { return lbfgs(loss, options); }, kRounding);
}

void expect_lbfgs(const LbfgsOptions& options) {
  // Differences of gradients divide by small numbers, which makes rounding errors grow.
  constexpr double kRounding = 1e-11;
  expect_trajectory(
      lbfgs_rule(options), [&](Var loss) { return lbfgs(loss, options); }, kRounding);
}

TEST(Lbfgs, EqualsTheOneByHand) {
  expect_lbfgs({});
  expect_lbfgs({.history = 1});
  expect_lbfgs({.history = 3, .engine = "forward"});
}

TEST(Lbfgs, SearchesTheLineAsByHand) {
  expect_lbfgs({.lr = 8, .history = 2});                        // begins with too long a step
  expect_lbfgs({.lr = 0.01, .history = 2});                     // too short
  expect_lbfgs({.lr = 8, .history = 2, .max_evaluations = 4});  // and often gives up
  expect_lbfgs({.history = 2, .decrease = 0.3, .curvature = 0.4});
}

TEST(Lbfgs, TakesOneGradientAnIteration) {
  for (const LineSearch line_search : {LineSearch::backtracking, LineSearch::none}) {
    expect_one_gradient({.lr = 0.1, .line_search = line_search});
    expect_one_gradient({.lr = 0.1, .history = 2, .line_search = line_search});
  }
  expect_one_gradient({.lr = 8, .line_search = LineSearch::backtracking});
  expect_one_gradient(
      {.lr = 8, .max_evaluations = 3, .line_search = LineSearch::backtracking});  // gives up
}

// By an engine up to the losses of the examples, by back-propagation from there.
TEST(Lbfgs, AGradientMayBeCut) {
  const auto trained = [](const EngineChoice& engine, bool cut) {
    Session session;
    Graph graph = session.graph();
    const Var x = graph.input("x", f64, {4, 3}), w = parameter("w", full(graph, f64, {3}, 0.5));
    const Var losses = square(sum(sin(x * w), {1}) - 0.3), loss = mean(losses);
    LbfgsOptions options{.engine = engine};
    if (cut) {
      options.gradient_at = {losses};
    }
    const Executable run = session.compile({loss}, {.updates = lbfgs(loss, options)});
    std::vector<double> values(12);
    std::iota(values.begin(), values.end(), 0.25);
    double last = 0;
    for (int i = 0; i < 4; ++i) {
      last = run({{"x", Tensor::of<double>({4, 3}, values)}})[0].item<double>();
    }
    return std::pair(last, session.states().get("w").to_vector<double>());
  };
  const auto [loss, w] = trained({}, false);
  for (const char* engine : {"backprop", "forward"}) {
    const auto [other_loss, other_w] = trained(engine, true);
    EXPECT_NEAR(other_loss, loss, 1e-9);
    EXPECT_THAT(other_w, testing::Pointwise(testing::DoubleNear(1e-9), w));
  }
}

TEST(Lbfgs, TrainsSomeParametersOnly) {
  const std::vector<Point> points =
      by_graph([](Var loss) { return lbfgs(loss, {.parameters = named("w")}); }, 5);
  EXPECT_NE(points.back()[0], start()[0]);
  EXPECT_EQ(points.back()[kW], start()[kW]);
}

// Rosenbrock's valley in four dimensions, cut into two parameters of two types; the minimum is
// at 1.
TEST(Lbfgs, FindsTheMinimumOfRosenbrocksFunction) {
  Session session;
  Graph graph = session.graph();
  const Var a = parameter("a", full(graph, f64, {2}, -1.2));
  const Var b = parameter("b", full(graph, f32, {2}, 1));
  const Var wide = cast(b, f64);
  const Var loss = sum(100.0 * square(wide - square(a)) + square(1.0 - a));
  const Executable step = session.compile({loss}, {.updates = lbfgs(loss)});
  double last = std::numeric_limits<double>::infinity();
  int runs = 0;
  for (; last > 1e-11 && runs < 100; ++runs) {
    const double next = step({}).item<double>();
    EXPECT_LE(next, last + 1e-6);  // b is rounded to f32 after the search
    last = next;
  }
  EXPECT_LT(runs, 60);
  EXPECT_NEAR(session.states().get("a").to_vector<double>()[1], 1, 1e-4);
  EXPECT_EQ(session.states().get("optimiser.step").item<std::int64_t>(), runs);
}

TEST(Lbfgs, StaysAtAMinimumAndWhereTheLossIsNoNumber) {
  for (const double start_at : {0.0, -1.0}) {
    Session session;
    Graph graph = session.graph();
    const Var w = parameter("w", scalar(graph, f64, start_at));
    const Var loss = start_at == 0 ? square(w) : sqrt(w);
    const Executable step = session.compile({loss}, {.updates = lbfgs(loss)});
    for (int i = 0; i < 3; ++i) {
      step({});
      EXPECT_EQ(session.states().get("w").item<double>(), start_at);
    }
  }
}

TEST(Lbfgs, RefusesWhatDoesNotFit) {
  Graph graph;
  const Var loss = square(parameter("w", scalar(graph, f32, 1)));
  const auto refused = [&](const std::string& message, const LbfgsOptions& options) {
    expect_error<InvalidArgument>(message, [&] { lbfgs(loss, options); });
  };
  refused("lbfgs: lr must be above 0, got 0", {.lr = 0});
  refused("lbfgs: history must be above 0, got 0", {.history = 0});
  refused("lbfgs: max_evaluations must be above 0, got -1", {.max_evaluations = -1});
  refused("lbfgs: decrease and curvature must be rising within (0, 1), got 0.5 and 0.5",
          {.decrease = 0.5, .curvature = 0.5});
  refused("lbfgs: the filter takes none of the graph's parameters", {.parameters = named("x")});
  refused("lbfgs: the name is empty", {.name = ""});
  expect_error<InvalidArgument>("lbfgs: there is no loss", [] { lbfgs(Var()); });
  lbfgs(loss, {.name = "first"});
  refused("lbfgs: the graph already has an optimiser called 'first'; give this one another name",
          {.name = "first"});
}

}  // namespace antichain::optim::lbfgs_test
