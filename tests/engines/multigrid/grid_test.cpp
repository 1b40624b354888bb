// The parts of a cycle: what it does to a solution, and how a coarse step agrees with fine ones.
#include "antichain/engines/multigrid/grid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/session/session.h"
#include "tests/engines/multigrid/chains.h"

namespace antichain::multigrid_test::grid_test {

using multigrid::CoarseStep;
using multigrid::CutGrid;
using multigrid::Grid;

std::vector<Tensor> values_of(Session& session, const Vars& values) {
  return session.compile(values)({}).tensors();
}

Var waves(Graph& graph, const Dims& shape, double rate) {
  return sin(rate * cast(reshape(iota(graph, i64, numel(shape)), shape), f64));
}

// Nothing moves that is a solution already: the residual is 0, and so is the correction.
TEST(MultigridGrid, ASolutionStaysWhereItIs) {
  for (const std::int64_t layers : {24, 27}) {
    for (const CoarseStep coarse :
         {CoarseStep::matched, CoarseStep::matched3, CoarseStep::plain, CoarseStep::same}) {
      Session session;
      Graph graph = session.graph();
      const ChainResult exact = residual_net(layers).chain(
          {waves(graph, {2, 3}, 1), waves(graph, {layers, 3, 3}, 2), waves(graph, {layers, 3}, 3)},
          {});
      const Op op = exact.last[0].producer();
      const Vars start = {op.input(0)};
      const CutGrid cut(Grid::finest(op, coarse), 4);
      const Grid coarse_grid = cut.grid().coarser(4);
      const Vars ends =
          cut.at_interval_ends(multigrid::Trajectory{exact.before, exact.last}.after());
      const Vars begins = cut.begins(start, ends), relaxed = cut.relax(begins, {});
      const Vars rhs = {relaxed[0] - coarse_grid.apply(begins)[0]};
      const Vars corrected = coarse_grid.walk(start, rhs).after();
      const multigrid::Trajectory all = cut.relax_to_all(begins, start, {});
      const std::vector<Tensor> found =
          values_of(session, {relaxed[0], ends[0], corrected[0], all.before[0], exact.before[0],
                              all.last[0], exact.last[0], all.ys[0], exact.ys[0]});
      EXPECT_LT(error({found[0]}, {found[1]}), 1e-15);
      EXPECT_LT(error({found[2]}, {found[1]}), 1e-14);
      EXPECT_LT(error({found[3], found[5], found[7]}, {found[4], found[6], found[8]}), 1e-14);
    }
  }
}

// The distance of one coarse step from the steps that it stands for, with steps of size h.
double distance(CoarseStep coarse, double h) {
  Session session;
  Graph graph = session.graph();
  const Var u = waves(graph, {2, 3}, 1), w = waves(graph, {3, 3}, 2);
  const Op op = chain({u}, {},
                      [&](Var, const Vars& s, const Vars&) -> StepResult {
                        return {{s[0] + h * tanh(matmul(s[0], w) + 0.3)}};
                      },
                      {.length = 8})
                    .last[0]
                    .producer();
  const Var fine = op.output(0);
  const Var one = Grid::finest(op, coarse).coarser(8).walk({u}, {}).last[0];
  return values_of(session, {sqrt(sum(square(one - fine)))})[0].item<double>();
}

TEST(MultigridGrid, OrdersOfCoarseSteps) {
  const auto order = [](CoarseStep coarse) {
    return std::log2(distance(coarse, 0.02) / distance(coarse, 0.01));
  };
  EXPECT_NEAR(order(CoarseStep::plain), 2, 0.2);
  EXPECT_NEAR(order(CoarseStep::matched), 3, 0.2);
  EXPECT_NEAR(order(CoarseStep::matched3), 4, 0.2);
}

}  // namespace antichain::multigrid_test::grid_test
