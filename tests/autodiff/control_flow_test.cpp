// Derivatives of loops, conds and calls.
#include "antichain/ops/control_flow/control_flow.h"

#include <gtest/gtest.h>

#include "antichain/ops/elementwise/gradient_ops.h"
#include "tests/autodiff/finite_difference.h"

namespace antichain::control_flow_test {

// Newton's iteration for the square root; how long it takes depends on the number.
LoopResult newton_sqrt(Var x) {
  return loop(
      {x}, [x](const Vars& s) { return greater(sum(abs(square(s[0]) - x)), 1e-13); },
      [x](const Vars& s) { return Vars{(s[0] + x / s[0]) * 0.5}; });
}

TEST(LoopDerivative, NewtonIterationForTheSquareRoot) {
  for (const double number : {0.3, 2.0, 1000.0}) {
    Session session;
    Graph graph = session.graph();
    const Var x = graph.input("x", DType::f64, {});
    const LoopResult result = newton_sqrt(x);
    const Results found = session.compile({result.last[0], grad(result.last[0], x), result.steps,
                                           jvp({result.last[0]}, {x}, {ones_like(x)})[0]})(
        {{"x", Tensor::scalar(number)}});
    EXPECT_NEAR(found[0].item<double>(), std::sqrt(number), 1e-12);
    EXPECT_NEAR(found[1].item<double>(), 0.5 / std::sqrt(number), 1e-8);
    EXPECT_NEAR(found[3].item<double>(), 0.5 / std::sqrt(number), 1e-8);
    EXPECT_GT(found[2].item<std::int64_t>(), number > 100 ? 8 : 3);
  }
}

TEST(LoopDerivative, SeveralStatesAndStackedStates) {
  const auto build = [](Graph&, const Vars& in) {
    const LoopResult result = loop(
        {in[0], in[1]}, [](const Vars& s) { return less(sum(square(s[0])), 30); },
        [&](const Vars& s) {
          return Vars{s[0] * 1.7 + sin(s[1]) * in[2], s[1] * 0.8};
        });
    return sum(result.last[0]) + sum(result.last[1]) + sum(square(result.before[0])) * 0.1;
  };
  expect_gradients(build,
                   {random_values({3}, 1, 0.5, 1), random_values({3}, 2), random_values({}, 3)});
}

TEST(LoopDerivative, NoStepPassesTheStateThrough) {
  const auto build = [](Graph&, const Vars& in) {
    return loop(
               {in[0]}, [](const Vars& s) { return less(sum(s[0]), -100); },
               [](const Vars& s) { return Vars{exp(s[0])}; })
        .last[0];
  };
  expect_gradients(build, {random_values({3}, 1)});
}

TEST(LoopDerivative, LoopWithinChainRunsAnotherNumberOfTimesAtEachStep) {
  const auto build = [](Graph&, const Vars& in) {
    return chain(in[0], in[1],
                 [&](Var h, Var x) {
                   return loop(
                              {x + h * h}, [](const Vars& s) { return less(s[0], 5); },
                              [&](const Vars& s) { return Vars{s[0] * in[2]}; })
                              .last[0] *
                          0.1;
                 })
        .all;
  };
  expect_gradients(build,
                   {Tensor::scalar(0.3), random_values({5}, 2, 0.01, 4), Tensor::scalar(1.3)});
}

TEST(LoopDerivative, ChainWithinLoop) {
  const auto build = [](Graph&, const Vars& in) {
    return loop(
               {in[0]}, [](const Vars& s) { return less(sum(s[0]), 20); },
               [&](const Vars& s) {
                 return Vars{
                     chain(s[0], in[1], [](Var a, Var b) { return a * 1.2 + sin(b); }).last};
               })
        .last[0];
  };
  expect_gradients(build, {random_values({2}, 1, 1, 2), random_values({3, 2}, 2, 0, 1)});
}

TEST(CondDerivative, EachBranch) {
  for (const double bound : {-100.0, 100.0}) {
    const auto build = [bound](Graph&, const Vars& in) {
      return cond(
          less(sum(in[0]), bound),
          [&] {
            return Vars{sin(in[0]) * in[1], in[0]};
          },
          [&] {
            return Vars{in[0] * in[0] + in[2], in[1] * in[2]};
          })[0];
    };
    Session session;
    Graph graph = session.graph();
    const std::vector<Tensor> at = {random_values({3}, 1), random_values({3}, 2),
                                    random_values({3}, 3)};
    expect_gradients([&](Graph& g, const Vars& in) { return build(g, in) + sum(in[2] + in[1]); },
                     at);
  }
}

TEST(CondDerivative, BranchThatReturnsItsCaptureAndOneThatIgnoresIt) {
  for (const double bound : {-100.0, 100.0}) {
    const auto build = [bound](Graph& graph, const Vars& in) {
      return cond(
                 less(sum(in[0]), bound), [&] { return Vars{in[0]}; },
                 [&] { return Vars{ones(graph, DType::f64, {3})}; })[0] *
             in[0];
    };
    expect_gradients(build, {random_values({3}, 1)});
  }
}

TEST(CondDerivative, CondWithinChainTakesAnotherBranchAtEachStep) {
  const auto build = [](Graph&, const Vars& in) {
    return chain(in[0], in[1],
                 [&](Var h, Var x) {
                   return cond(
                       less(x, 0), [&] { return Vars{h * in[2]}; },
                       [&] { return Vars{sin(h) + x}; })[0];
                 })
        .all;
  };
  expect_gradients(build,
                   {Tensor::scalar(0.7), Tensor::of<double>({5}, {-0.5, 0.3, 0.8, -0.2, 0.4}),
                    Tensor::scalar(1.1)});
}

TEST(CallDerivative, CallWithinCallWithinChain) {
  const auto build = [](Graph& graph, const Vars& in) {
    return chain(in[0], in[1],
                 [&](Var h, Var x) {
                   return call(graph, [&] {
                     const Var inner = call(graph, [&] { return Vars{tanh(h * in[2]), x}; })[0];
                     return Vars{inner * x + h};
                   })[0];
                 })
        .all;
  };
  expect_gradients(build, {random_values({3}, 1), random_values({4, 3}, 2), random_values({3}, 3)});
}

TEST(CallDerivative, ResultsThatAreCapturesOrUnused) {
  const auto build = [](Graph& graph, const Vars& in) {
    const Vars results = call(graph, [&] { return Vars{in[0], exp(in[1]), in[0] * in[1], in[0]}; });
    return results[0] * results[2] + results[3];
  };
  expect_gradients(build, {random_values({3}, 1), random_values({3}, 2)});
}

}  // namespace antichain::control_flow_test
