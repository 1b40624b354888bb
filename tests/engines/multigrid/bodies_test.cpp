// Bodies of many kinds, solved by as many cycles as there are intervals and compared with the steps
// one after the other.
#include <gtest/gtest.h>

#include <cmath>

#include "antichain/autodiff/grad.h"
#include "antichain/nn/dropout.h"
#include "antichain/ops/control_flow/grid_step.h"
#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/state_ops.h"
#include "tests/engines/multigrid/chains.h"

namespace antichain::multigrid_test::bodies_test {

// Exact after all cycles, in either direction, and not by chance after one.
void expect_exact(Model model, std::vector<EngineOption> options = {}, std::int64_t cycles = 5) {
  for (const DType dtype : {f64, f32}) {
    for (const bool reverse : {false, true}) {
      model.dtype = dtype;
      std::vector<EngineOption> all = options;
      all.emplace_back("coarsening", 3);
      all.emplace_back("cycles", cycles);
      const Outcome got = run(model, {.engine = multigrid(all), .reverse = reverse});
      const Outcome want = run(model, {.reverse = reverse});
      const double rounding = dtype == f64 ? 1e-12 : 2e-5;
      EXPECT_LT(error(got.values, want.values), rounding) << reverse;
      EXPECT_LT(error(got.gradients, want.gradients), rounding) << reverse;
    }
  }
}

TEST(MultigridBodies, SharedWeights) {
  expect_exact({{{2, 3}, {14, 2, 3}, {3, 3}}, [](const Vars& in, const ChainOptions& options) {
                  return chain(
                      {in[0]}, {in[1]},
                      [&](Var, const Vars& u, const Vars& x) -> StepResult {
                        return {{u[0] + 0.1 * tanh(matmul(u[0], in[2]) + x[0])}};
                      },
                      options);
                }});
}

TEST(MultigridBodies, SeveralStates) {
  expect_exact(
      {{{2, 3}, {2}, {13, 3}}, [](const Vars& in, const ChainOptions& options) {
         return chain(
             {in[0], in[1]}, {in[2]},
             [&](Var, const Vars& u, const Vars& x) -> StepResult {
               const Var pull = mean(u[0], {1});
               return {{u[0] - 0.1 * sin(u[0] + x[0] + expand_dims(u[1], 1)), 0.05 * pull + u[1]},
                       {sum(u[0]), x[0]}};
             },
             options);
       }});
}

TEST(MultigridBodies, CountersAndPositions) {
  expect_exact({{{3}, {13, 3}}, [](const Vars& in, const ChainOptions& options) {
                  const Var count = scalar(in[0].graph(), i64, 2);
                  return chain(
                      {in[0], count}, {in[1]},
                      [&](Var step, const Vars& u, const Vars& x) -> StepResult {
                        const Var wave = cast(step + u[1], u[0].dtype());
                        return {{u[0] + 0.1 * sin(wave * x[0]) * u[0], u[1] + step}};
                      },
                      options);
                }});
}

TEST(MultigridBodies, Convolutions) {
  expect_exact({{{2, 2, 5, 4}, {13, 2, 2, 3, 3}}, [](const Vars& in, const ChainOptions& options) {
                  return chain(
                      {in[0]}, {in[1]},
                      [&](Var, const Vars& u, const Vars& w) -> StepResult {
                        return {{u[0] + 0.1 * tanh(conv(u[0], w[0], {.padding = {1, 1}}))}};
                      },
                      options);
                }});
}

// A mask is drawn by the position of its step, so all relaxations see the same masks, and those
// that the steps see one after the other.
TEST(MultigridBodies, Dropout) {
  expect_exact({{{2, 3}, {13, 3, 3}}, [](const Vars& in, const ChainOptions& options) {
                  return chain(
                      {in[0]}, {in[1]},
                      [&](Var, const Vars& u, const Vars& w) -> StepResult {
                        const Var moved = tanh(matmul(u[0], w[0]));
                        return {{u[0] + 0.1 * nn::dropout(moved, {0.3, true})}};
                      },
                      options);
                }});
}

// Statistics of the batch are outputs of the steps, so what is made of them is made of those of the
// last relaxation.
TEST(MultigridBodies, NormalisedByTheBatch) {
  expect_exact({{{4, 3}, {13, 3}}, [](const Vars& in, const ChainOptions& options) {
                  return chain(
                      {in[0]}, {in[1]},
                      [&](Var, const Vars& u, const Vars& w) -> StepResult {
                        const Var middle = mean(u[0], {0}), away = u[0] - middle;
                        const Var spread = mean(square(away), {0});
                        const Var normal = away * rsqrt(spread + 0.1);
                        return {{u[0] + 0.1 * tanh(normal * w[0])}, {middle, spread}};
                      },
                      options);
                }});
}

// Running statistics are moved once a step, by what the last relaxation has seen.
TEST(MultigridBodies, RunningStatisticsMoveOnce) {
  const auto running = [](const EngineChoice& engine) {
    Session session;
    Graph graph = session.graph();
    const Var kept = buffer("running", zeros(graph, f64, {12, 3}));
    const Var x = graph.input("x", f64, {4, 3}), w = graph.input("w", f64, {12, 3});
    const ChainResult found =
        chain({x}, {w},
              [&](Var, const Vars& u, const Vars& slices) -> StepResult {
                const Var middle = mean(u[0], {0});
                return {{u[0] + 0.1 * tanh((u[0] - middle) * slices[0])}, {middle}};
              },
              {.engine = engine});
    const Var loss = sum(square(found.last[0]));
    const Var write = assign(graph, "running", 0.9 * kept + 0.1 * found.ys[0]);
    std::vector<double> values(36);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::cos(static_cast<double>(i));
    }
    const Executable step = session.compile({loss, grad(loss, w)}, {.updates = {write}});
    for (int run = 0; run < 3; ++run) {
      const std::vector<double> first(values.begin(), values.begin() + 12);
      step({{"x", Tensor::of<double>({4, 3}, first)}, {"w", Tensor::of<double>({12, 3}, values)}});
    }
    return session.states().get("running");
  };
  const Tensor want = running({});
  for (const int cycles : {4, 9}) {
    EXPECT_LT(error({running(multigrid({{"coarsening", 3}, {"cycles", cycles}}))}, {want}), 1e-14);
  }
}

// C-points are kept in more bits: what the cycles end with are the bits of the steps.
TEST(MultigridBodies, SixteenBits) {
  for (const DType dtype : {bf16, f16}) {
    Model model = residual_net(24);
    model.dtype = dtype;
    const Outcome want = run(model, {});
    for (const char* groups : {"0", "2"}) {
      const EngineChoice engine =
          multigrid({{"coarsening", 4}, {"cycles", 6}, {"guess", "zero"}, {"groups", groups}});
      EXPECT_EQ(error(run(model, {.engine = engine}).values, want.values), 0) << groups;
    }
    const EngineChoice three = multigrid({{"coarsening", 2}, {"levels", 3}, {"cycles", 12}});
    EXPECT_LT(error(run(model, {.engine = three}).values, want.values), 1e-3);
  }
}

TEST(MultigridBodies, StepsOfAnotherKindOnCoarseGrids) {
  const Model model = {{{3}, {14, 3}}, [](const Vars& in, const ChainOptions& options) {
                         return chain(
                             {in[0]}, {in[1]},
                             [&](Var, const Vars& u, const Vars& x) -> StepResult {
                               const Var h = 0.2 * grid_stride(x[0].graph(), x[0].dtype());
                               const Var fine = u[0] + h * (sin(x[0]) - u[0]);
                               const Var coarse = (u[0] + h * sin(x[0])) / (1 + h);
                               return {{on_coarse_grids(fine, coarse)}};
                             },
                             options);
                       }};
  expect_exact(model);
  const Outcome want = run(model, {});
  const auto error_of = [&](const char* coarse) {
    const EngineChoice engine = multigrid({{"coarsening", 3}, {"cycles", 1}, {"coarse", coarse}});
    return error(run(model, {.engine = engine}).gradients, want.gradients);
  };
  EXPECT_LT(error_of("auto"), 0.1);
  EXPECT_NE(error_of("auto"), error_of("plain"));
}

TEST(MultigridBodies, ChainsInsideOfChains) {
  expect_exact({{{3}, {14, 3}, {4, 3}}, [](const Vars& in, const ChainOptions& options) {
                  const auto inner = [](Var s, Var x) { return s + 0.1 * sin(s + x); };
                  return chain(
                      {in[0]}, {in[1]},
                      [&](Var, const Vars& u, const Vars& x) -> StepResult {
                        return {{u[0] + 0.1 * chain(u[0] * x[0], in[2], inner).last}};
                      },
                      options);
                }});
}

TEST(MultigridBodies, InsideOfAnotherChain) {
  const Model model = {{{3}, {3, 3}, {13, 3}}, [](const Vars& in, const ChainOptions& options) {
                         const auto inner = [](Var s, Var x) { return s + 0.1 * sin(s + x); };
                         return chain({in[0]}, {in[1]},
                                      [&](Var, const Vars& u, const Vars& x) -> StepResult {
                                        return {{chain(u[0] + x[0], in[2], inner, options).last}};
                                      });
                       }};
  const Outcome got = run(model, {.engine = multigrid({{"coarsening", 3}, {"cycles", 4}})});
  const Outcome want = run(model, {});
  EXPECT_LT(error(got.values, want.values), 1e-12);
  EXPECT_LT(error(got.gradients, want.gradients), 1e-12);
}

TEST(MultigridBodies, StatesWithoutSequences) {
  expect_exact({{{3}, {3}}, [](const Vars& in, ChainOptions options) {
                  options.length = 14;
                  return chain(
                      {in[0]}, {},
                      [&](Var, const Vars& u, const Vars&) -> StepResult {
                        return {{u[0] + 0.1 * sin(u[0] * in[1])}};
                      },
                      options);
                }});
}

}  // namespace antichain::multigrid_test::bodies_test
