// Derivatives of chains: recurrent cells, several states, sequences of losses, nesting.
#include <gtest/gtest.h>

#include "antichain/ops/control_flow.h"
#include "tests/autodiff/cells.h"
#include "tests/autodiff/finite_difference.h"

namespace antichain {
namespace {

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

}  // namespace
}  // namespace antichain
