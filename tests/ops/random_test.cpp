// Random numbers: how they are distributed, what repeats and what does not.
#include "antichain/ops/state/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "tests/autodiff/finite_difference.h"

namespace antichain::random_test {

using Doubles = std::vector<double>;

double mean_of(const Doubles& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double moment(const Doubles& values, int power) {
  const double center = mean_of(values);
  double total = 0;
  for (double value : values) {
    total += std::pow(value - center, power);
  }
  return total / static_cast<double>(values.size());
}

Doubles draw(Session& session, Graph& graph, Var value) {
  EXPECT_EQ(&value.graph(), &graph);
  return session.compile({value})({})[0].to_vector<double>();
}

// Five standard errors of the mean of a moment with 100,000 draws.
constexpr std::int64_t kDraws = 100'000;

TEST(Random, Moments) {
  Session session({.seed = 11});
  Graph graph = session.graph();
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Doubles uniform = draw(session, graph, random_uniform(graph, dtype, {kDraws}));
    EXPECT_NEAR(mean_of(uniform), 0.5, 5 * std::sqrt(1 / 12.0 / kDraws));
    EXPECT_NEAR(moment(uniform, 2), 1 / 12.0, 5 * std::sqrt(1 / 180.0 / kDraws));
    EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), 0);
    EXPECT_LT(*std::max_element(uniform.begin(), uniform.end()), 1);
    const Doubles normal = draw(session, graph, random_normal(graph, dtype, {kDraws}));
    EXPECT_NEAR(mean_of(normal), 0, 5 / std::sqrt(kDraws));
    EXPECT_NEAR(moment(normal, 2), 1, 5 * std::sqrt(2.0 / kDraws));
    EXPECT_NEAR(moment(normal, 3), 0, 5 * std::sqrt(6.0 / kDraws));
    EXPECT_NEAR(moment(normal, 4), 3, 5 * std::sqrt(96.0 / kDraws));
  }
  const Doubles coins = draw(session, graph, random_bernoulli(graph, 0.3, {kDraws}));
  EXPECT_NEAR(mean_of(coins), 0.3, 5 * std::sqrt(0.21 / kDraws));
}

TEST(Random, PermutationsHoldEveryNumberOnce) {
  Session session;
  Graph graph = session.graph();
  Doubles order = draw(session, graph, random_permutation(graph, 101));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(order[i], static_cast<double>(i));
  }
}

TEST(Random, SeedAndRunNumberDecide) {
  const auto two_runs = [](std::int64_t seed) {
    Session session({.seed = seed});
    Graph graph = session.graph();
    const Executable run = session.compile({random_normal(graph, DType::f64, {4})});
    return std::pair(run({})[0].to_vector<double>(), run({})[0].to_vector<double>());
  };
  EXPECT_EQ(two_runs(5), two_runs(5));
  EXPECT_NE(two_runs(5).first, two_runs(6).first);
  EXPECT_NE(two_runs(5).first, two_runs(5).second);
}

TEST(Random, EveryCallIsAStreamOfItsOwn) {
  Session session;
  Graph graph = session.graph();
  const Var a = random_normal(graph, DType::f64, {8}), b = random_normal(graph, DType::f64, {8});
  const Results found = session.compile({a, b})({});
  EXPECT_NE(found[0].to_vector<double>(), found[1].to_vector<double>());
}

TEST(Random, OpsBetweenDrawsChangeNoDraw) {
  const auto second_draw = [](bool with_more_ops) {
    Session session({.seed = 7});
    Graph graph = session.graph();
    const Var first = random_uniform(graph, f32, {5});
    const Var between = with_more_ops ? cast(cast(first, f64) * 2, f32) : first;
    return draw(session, graph, cast(random_uniform(graph, f32, {5}) + 0 * between, f64));
  };
  EXPECT_EQ(second_draw(true), second_draw(false));
}

TEST(Random, AGivenKeyDeterminesTheDraw) {
  Session session;
  Graph graph = session.graph();
  const Var key = fold_in(random_key(graph), 3), other = fold_in(random_key(graph), 4);
  const Var a = random_normal(graph, DType::f64, {4}, {key}),
            b = random_normal(graph, DType::f64, {4}, {key}),
            c = random_normal(graph, DType::f64, {4}, {other});
  const Results found = session.compile({a, b, c})({});
  EXPECT_EQ(found[0].to_vector<double>(), found[1].to_vector<double>());
  EXPECT_NE(found[0].to_vector<double>(), found[2].to_vector<double>());
}

TEST(Random, EveryStepOfEveryBodyDrawsItsOwn) {
  Session session;
  Graph graph = session.graph();
  const auto uniform = [&] { return random_uniform(graph, DType::f64, {}); };
  const Var zero = scalar(graph, DType::f64, 0), rows = zeros(graph, DType::f64, {3, 4});
  // Nested chains: an outer draw, an inner draw, one in a call and one in a cond, at 3 x 4 steps.
  const ChainResult nested =
      chain({}, {rows}, [&](Var, const Vars&, const Vars& row) -> StepResult {
        const Var inner = chain({}, {row[0]}, [&](Var, const Vars&, const Vars&) -> StepResult {
                            const Var called = call(graph, [&] { return Vars{uniform()}; })[0];
                            const Var chosen = cond(
                                less(uniform(), 0.5), [&] { return Vars{uniform()}; },
                                [&] { return Vars{uniform()}; })[0];
                            return {{}, {uniform(), called, chosen}};
                          }).ys[0];
        return {{}, {inner, uniform()}};
      });
  const LoopResult counted = loop(
      {zero, zero}, [](const Vars& s) { return less(s[0], 5); },
      [&](const Vars& s) {
        return Vars{s[0] + 1, uniform()};
      });
  const Results found =
      session.compile({nested.ys[0], nested.ys[1], counted.before[1], uniform()})({});
  std::set<double> seen;
  std::size_t count = 0;
  for (const Tensor& tensor : found.tensors()) {
    for (double value : tensor.to_vector<double>()) {
      count += value != 0 ? 1 : 0;  // the loop's first state is 0
      seen.insert(value);
    }
  }
  EXPECT_EQ(count, 12U + 3 + 4 + 1);
  EXPECT_EQ(seen.size(), count + 1);
}

TEST(Random, DropoutInAChainIsDifferentiatedWithTheNumbersItDrew) {
  // The backward sweep recomputes the steps; with other masks it would not match differences.
  const auto build = [](Graph& graph, const Vars& in) {
    return chain(in[0], in[1],
                 [&](Var h, Var x) {
                   const Var mask = cast(random_bernoulli(graph, 0.5, {4}), DType::f64) * 2;
                   return tanh(h * in[2] + x) * mask + h * 0.1;
                 })
        .all;
  };
  const std::vector<Tensor> at = {random_values({4}, 1), random_values({5, 4}, 2),
                                  random_values({4}, 3)};
  // Every run of an executable draws anew, so each difference quotient gets a session of its own.
  const auto value = [&](const std::vector<Tensor>& point) {
    Session session({.seed = 9});
    Graph graph = session.graph();
    return session.compile({sum(build(graph, inputs_like(graph, at)))})(feed(point)).item<double>();
  };
  Session session({.seed = 9});
  Graph graph = session.graph();
  const Vars in = inputs_like(graph, at);
  const Var y = sum(build(graph, in));
  const Results found = session.compile(grad(y, in))(feed(at));
  const auto expected = central_differences(value, at, 1e-5);
  for (std::size_t i = 0; i < at.size(); ++i) {
    for (std::size_t n = 0; n < expected[i].size(); ++n) {
      expect_close(found[i].to_vector<double>()[n], expected[i][n], 1e-7, "gradient");
    }
  }
}

TEST(Random, GradientsDoNotFlowIntoKeys) {
  Session session;
  Graph graph = session.graph();
  const Var x = graph.input("x", DType::f64, {3});
  const Var y = sum(x * random_normal(graph, DType::f64, {3}));
  const Var slope = grad(y, x);
  const Results found = session.compile({y, slope})({{"x", Tensor::full(DType::f64, {3}, 1)}});
  const Doubles noise = found[1].to_vector<double>();
  EXPECT_NEAR(found[0].item<double>(), noise[0] + noise[1] + noise[2], 1e-12);
}

}  // namespace antichain::random_test
