// The self-test of coarse steps tells good ones from bad ones.
#include "antichain/session/coarse_step_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "antichain/nn/recurrent.h"
#include "antichain/ops/control_flow/grid_step.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/state/random.h"
#include "tests/tensor/expect_error.h"

namespace antichain::multigrid_test::coarse_step_check_test {

using Body = std::function<Var(Var u, Var stride)>;

CoarseStepCheck checked(const Body& body, bool reverse = false) {
  Session session;
  Graph graph = session.graph();
  const Var u = graph.input("u", f64, {3}), xs = graph.input("xs", f64, {4, 3});
  const auto cell = [&](Var s, Var x) { return body(s + 0.0 * x, grid_stride(graph, f64)); };
  const Var last = chain(u, xs, cell, {.reverse = reverse}).last;
  return check_coarse_step(
      session, last,
      {{"u", Tensor::of<double>({3}, {0.5, -1, 2})}, {"xs", Tensor::zeros(f64, {4, 3})}});
}

TEST(CoarseStepCheck, AcceptsStepsOfTheSameEquation) {
  for (const bool reverse : {false, true}) {
    const CoarseStepCheck explicit_step =
        checked([](Var u, Var stride) { return u + 0.1 * stride * sin(u); }, reverse);
    EXPECT_EQ(explicit_step.from_fine, 0);
    EXPECT_NEAR(explicit_step.order(), 2, 0.05);
    EXPECT_TRUE(explicit_step.is_consistent());
  }
  EXPECT_NEAR(checked([](Var u, Var stride) { return u / (1 + 0.1 * stride); }).order(), 2, 0.05);
}

TEST(CoarseStepCheck, SeesStepsThatAreNotTwoShorterOnes) {
  // As many as one likes, each of the same length.
  EXPECT_FALSE(
      checked([](Var u, Var stride) { return u + 0.1 * sin(u) + 0 * stride; }).is_consistent());
  // What should be multiplied by the stride is not.
  EXPECT_FALSE(checked([](Var u, Var stride) { return (u + 0.1 * stride) / 1.1; }).is_consistent());
}

TEST(CoarseStepCheck, ComparesACoarseStepWithTheFineOne) {
  const CoarseStepCheck implicit = checked(
      [](Var u, Var stride) { return on_coarse_grids(u - 0.1 * u, u / (1 + 0.1 * stride)); });
  EXPECT_NEAR(implicit.from_fine, 0.1 / 1.1, 1e-9);
  EXPECT_TRUE(implicit.is_consistent());
}

TEST(CoarseStepCheck, TheImplicitGruIsConsistent) {
  Session session;
  Graph graph = session.graph();
  const Var xs = graph.input("xs", f64, {6, 2, 3});
  nn::implicit_gru(xs, 4);
  const std::vector<OpId> ops = graph.region(kRootRegion).ops;  // the check builds more of them
  const auto id =
      std::ranges::find_if(ops, [&](OpId op) { return &graph.op(op).def() == &chain_def(); });
  ASSERT_NE(id, ops.end());
  const CoarseStepCheck check = check_coarse_step(session, graph.op(*id).output(0),
                                                  {{"xs", Tensor::full(f64, {6, 2, 3}, 0.7)}});
  EXPECT_EQ(check.from_fine, 0);
  EXPECT_TRUE(check.is_consistent()) << check.order();
}

TEST(CoarseStepCheck, RefusesWhatHasNoCoarseStep) {
  Session session;
  Graph graph = session.graph();
  const Var u = graph.input("u", f64, {3}), xs = graph.input("xs", f64, {4, 3});
  expect_error<InvalidArgument>("check_coarse_step: u is no output of a chain with states",
                                [&] { check_coarse_step(session, u); });
  const Var last = chain(u, xs, [](Var s, Var x) { return s + x; }).last;
  EXPECT_THROW(check_coarse_step(session, last), InvalidArgument);
}

}  // namespace antichain::multigrid_test::coarse_step_check_test
