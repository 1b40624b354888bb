// Derivatives of chains: recurrent cells, several states, sequences of losses, nesting.
#include <gtest/gtest.h>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/runtime/profiler.h"
#include "antichain/session/session.h"
#include "tests/autodiff/cells.h"
#include "tests/autodiff/finite_difference.h"

namespace antichain::chain_test {

// Length 4, batch 2, input 3, hidden 2: state, sequence, the two weights.
std::vector<Tensor> cell_point(std::int64_t gates, std::int64_t length = 4) {
  return {random_values({2, 2}, 1), random_values({length, 2, 3}, 2),
          random_values({3, 2 * gates}, 3), random_values({2, 2 * gates}, 4)};
}

Build gru(const ChainOptions& options, bool all) {
  return [=](Graph&, const Vars& in) {
    const Chain result = chain(
        in[0], in[1], [&](Var h, Var x) { return gru_cell(h, x, in[2], in[3], 2); }, options);
    return all ? result.all : result.last;
  };
}

TEST(ChainDerivative, GruLastState) { expect_gradients(gru({}, false), cell_point(3)); }
TEST(ChainDerivative, GruAllStates) { expect_gradients(gru({}, true), cell_point(3)); }
TEST(ChainDerivative, GruReverse) { expect_gradients(gru({.reverse = true}, true), cell_point(3)); }
TEST(ChainDerivative, OneStep) { expect_gradients(gru({}, true), cell_point(3, 1)); }

TEST(ChainDerivative, NoStepPassesTheStateThrough) {
  expect_gradients(gru({}, false), cell_point(3, 0));
}

TEST(ChainDerivative, LstmWithLossAtEveryStep) {
  const auto build = [](Graph&, const Vars& in) {
    const ChainResult result =
        chain({in[0], in[0] * 0.5}, {in[1]}, [&](Var, const Vars& s, const Vars& x) -> StepResult {
          const LstmState next = lstm_cell({s[0], s[1]}, x[0], in[2], in[3], 2);
          return {{next.h, next.c}, {sum(square(next.h)), next.c}};
        });
    return sum(result.ys[0]) + sum(result.ys[1]) * 0.3 + sum(result.last[1]) * 0.7;
  };
  expect_gradients(build, cell_point(4));
}

TEST(ChainDerivative, StatesBeforeEachStepCarryGradients) {
  const auto build = [](Graph&, const Vars& in) {
    const ChainResult result = chain({in[0], in[1]}, {},
                                     [](Var, const Vars& s, const Vars&) -> StepResult {
                                       return {{sin(s[0]) * s[1], s[1] + s[0]}};
                                     },
                                     {.length = 3});
    return sum(exp(result.before[0])) + sum(result.before[1] * result.before[0]);
  };
  expect_gradients(build, {random_values({3}, 1), random_values({3}, 2)});
}

TEST(ChainDerivative, IntegerStatesAndSequencesStandBeside) {
  const auto build = [](Graph& graph, const Vars& in) {
    const Var count = scalar(graph, DType::i64, 0), numbers = iota(graph, DType::i64, 5);
    const ChainResult result = chain({count, in[0]}, {numbers, in[1]},
                                     [](Var step, const Vars& s, const Vars& x) -> StepResult {
                                       const Var factor = cast(s[0] + x[0] + step, DType::f64);
                                       const Var next = tanh(s[1] * factor + x[1]);
                                       return {{s[0] + 1, next}, {s[0], next * factor}};
                                     });
    return sum(result.ys[1]) + sum(result.last[1]);
  };
  expect_gradients(build, {random_values({2}, 1), random_values({5, 2}, 2)});
}

TEST(ChainDerivative, UnusedStateHasZeroGradient) {
  const auto build = [](Graph&, const Vars& in) {
    const ChainResult result =
        chain({in[0], in[1]}, {in[2]}, [](Var, const Vars& s, const Vars& x) -> StepResult {
          return {{s[0] * 0.9, s[1] * x[0]}};
        });
    return result.last[1] + sum(in[0]);
  };
  expect_gradients(build, {random_values({2}, 1), random_values({3}, 2), random_values({4, 3}, 3)});
}

TEST(ChainDerivative, ChainWithinChainSharesAWeight) {
  // The outer state enters the inner chain as a captured value, the weight is captured twice over.
  const auto build = [](Graph&, const Vars& in) {
    const auto outer = [&](Var h, Var row) {
      return chain(tanh(h), row, [&](Var s, Var x) { return sin(matmul(s, in[2]) + x) + h * 0.1; })
          .last;
    };
    return chain(in[0], in[1], outer).all;
  };
  expect_gradients(
      build, {random_values({1, 2}, 1), random_values({3, 2, 1, 2}, 2), random_values({2, 2}, 3)});
}

TEST(ChainDerivative, MatricesThatAreUsedInSeveralWays) {
  // Once from the right, plain and transposed; twice; from the left; and returned as well.
  const auto build = [](Graph&, const Vars& in) {
    const ChainResult result =
        chain({in[0]}, {in[1]}, [&](Var, const Vars& h, const Vars& x) -> StepResult {
          const Var once = matmul(matmul(h[0], in[2]), in[3], {.transpose_b = true});
          const Var twice = matmul(sin(matmul(x[0], in[4])), in[4]);
          return {{tanh(once + twice + matmul(in[5], h[0]) + matmul(h[0], in[6]))}, {in[6]}};
        });
    return sum(square(result.last[0])) + sum(result.ys[0]) * 0.1;
  };
  std::vector<Tensor> point = {random_values({2, 2}, 1), random_values({3, 2, 2}, 2)};
  for (int seed = 3; seed < 8; ++seed) {
    point.push_back(random_values({2, 2}, seed));
  }
  expect_gradients(build, point);
}

TEST(ChainDerivative, ProductsOfAllStepsAreSummedByOne) {
  constexpr std::int64_t kSteps = 5;
  Session session;
  Graph graph = session.graph();
  const Var h = graph.input("h", f64, {3, 2}), xs = graph.input("xs", f64, {kSteps, 3, 2});
  const Var w = graph.input("w", f64, {2, 2});
  const Var last = chain(h, xs, [&](Var s, Var x) { return tanh(matmul(s, w) + x); }).last;
  Profiler profiler;
  session.compile({grad(sum(last), w)})
      .run({{"h", random_values({3, 2}, 1)},
            {"xs", random_values({kSteps, 3, 2}, 2)},
            {"w", random_values({2, 2}, 3)}},
           {&profiler});
  std::int64_t products = 0;
  for (const ProfileRow& row : profiler.rows()) {
    products += row.op == "matmul" || row.op == "fused_product" ? row.count : 0;
  }
  EXPECT_EQ(products % kSteps, 1) << products;
}

TEST(ChainDerivative, ChainOfChainsInOppositeDirections) {
  const auto build = [](Graph&, const Vars& in) {
    const auto forth = [&](Var s, Var x) { return tanh(s * in[2] + x); };
    const Var first = chain(in[0], in[1], forth).all;
    return chain(in[0] * 2, first, forth, {.reverse = true}).all;
  };
  expect_gradients(build, {random_values({3}, 1), random_values({5, 3}, 2), random_values({3}, 3)});
}

TEST(ChainDerivative, SameValueAsStateSequenceAndCapture) {
  const auto build = [](Graph&, const Vars& in) {
    return chain({in[0], in[0]}, {in[0], in[0]},
                 [&](Var, const Vars& s, const Vars& x) -> StepResult {
                   return {{s[0] * x[0] + sum(in[0]), s[1] * x[1] + s[0]}};
                 })
        .last[1];
  };
  expect_gradients(build, {random_values({3}, 1)});
}

}  // namespace antichain::chain_test
