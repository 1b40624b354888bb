#include "antichain/engines/multigrid/training_runs.h"

#include "antichain/engines/multigrid/own_states.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/reports.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::multigrid {

namespace {

enum Part : int { kRuns, kCycles, kEnough, kCosine, kIsRaised, kParts };

// Gradients are some ten times as far from exact ones as states are (docs/design/multigrid.md):
// these are cosines of about 0.99 and 0.9999 between gradients.
constexpr double kTooFar = 0.9999, kNearEnough = 0.999999;
constexpr std::int64_t kChecksInARow = 2;
// A cycle that leaves so much of the residual does not converge as it should: those of a net where
// one cycle is enough leave a hundredth of it. Residuals below the second number are rounding.
constexpr double kSlowRatio = 0.25, kRounding = 1e-5;

}  // namespace

std::optional<TrainingRuns> TrainingRuns::of(Graph& graph, const SolveOptions& options) {
  if ((options.adaptive == 0 && options.serial_after == 0) ||
      graph.current_region() != kRootRegion) {
    return std::nullopt;
  }
  const std::string name = free_state_name(graph, "multigrid_runs");
  const Tensor first =
      Tensor::of<double>({kParts}, {0, static_cast<double>(options.cycles), 0, 1, 0});
  return TrainingRuns(graph.qualify(name), buffer(name, constant(graph, first)), options);
}

Var TrainingRuns::part(int which) const { return index(value_, 0, which); }

Var TrainingRuns::cycles() const { return cast(part(kCycles), i64); }

Var TrainingRuns::is_serial() const {
  return options_.serial_after > 0 ? greater_equal(part(kRuns), options_.serial_after) : Var();
}

Var TrainingRuns::is_checked() const {
  return options_.adaptive > 0 ? equal(modulo(part(kRuns), options_.adaptive), 0) : Var();
}

Vars TrainingRuns::counted(const Vars& carriers, const Convergence& seen) const {
  Var cycles = part(kCycles), enough = part(kEnough), last = part(kCosine);
  Var is_raised = part(kIsRaised);
  if (seen.cosine.valid()) {
    const Var is_known = equal(seen.cosine, seen.cosine);  // not a number: nothing was checked
    last = select(is_known, seen.cosine, last);
    const Var near = select(greater(seen.cosine, kNearEnough), enough + 1, 0 * enough);
    const Var in_a_row = select(is_known, near, enough);
    const Var fewer = greater_equal(in_a_row, kChecksInARow);
    const Var is_slow =
        logical_and(logical_and(greater(seen.ratio, kSlowRatio), greater(seen.residual, kRounding)),
                    logical_not(logical_or(is_known, greater(is_raised, 0))));
    const Var more = logical_or(less(seen.cosine, kTooFar), is_slow);
    cycles = select(more, cycles + 1, select(fewer, cycles - 1, cycles));
    cycles = maximum(cycles, 1);
    enough = select(fewer, 0 * enough, in_a_row);
    is_raised = select(is_known, 0 * is_raised, select(is_slow, 0 * is_raised + 1, is_raised));
  }
  const Var next = stack({part(kRuns) + 1, cycles, enough, last, is_raised}, 0);
  const Var write = assign(value_.graph(), state_, next);
  Vars carried;
  for (Var carrier : carriers) {
    carried.push_back(after_writes(carrier, {write}));
  }
  return seen.cosine.valid() ? with_report(carried, "multigrid_cosine", last) : carried;
}

}  // namespace antichain::multigrid
