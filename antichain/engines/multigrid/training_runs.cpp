#include "antichain/engines/multigrid/training_runs.h"

#include <fmt/format.h>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/reports.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::multigrid {

namespace {

enum Part : int { kRuns, kCycles, kEnough, kCosine };

// Gradients are some ten times as far from exact ones as states are (docs/design/multigrid.md):
// these are cosines of about 0.99 and 0.9999 between gradients.
constexpr double kTooFar = 0.9999, kNearEnough = 0.999999;
constexpr std::int64_t kChecksInARow = 2;

// In eager mode the same line runs again and again, and goes on with its state.
std::string free_name(const Graph& graph) {
  const std::string name = "multigrid_runs";
  std::string numbered = name;
  const bool is_eager = graph.evaluator() != nullptr;
  for (int n = 2; !is_eager && graph.find_state(graph.qualify(numbered)) != nullptr; ++n) {
    numbered = fmt::format("{}_{}", name, n);
  }
  return numbered;
}

}  // namespace

std::optional<TrainingRuns> TrainingRuns::of(Graph& graph, const SolveOptions& options) {
  if ((options.adaptive == 0 && options.serial_after == 0) ||
      graph.current_region() != kRootRegion) {
    return std::nullopt;
  }
  const std::string name = free_name(graph);
  const Tensor first = Tensor::of<double>({4}, {0, static_cast<double>(options.cycles), 0, 1});
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

Vars TrainingRuns::counted(const Vars& carriers, Var cosine) const {
  Var cycles = part(kCycles), enough = part(kEnough), last = part(kCosine);
  if (cosine.valid()) {
    const Var is_known = equal(cosine, cosine);  // not a number where nothing was checked
    last = select(is_known, cosine, last);
    const Var near = select(greater(cosine, kNearEnough), enough + 1, 0 * enough);
    const Var in_a_row = select(is_known, near, enough);
    const Var fewer = greater_equal(in_a_row, kChecksInARow);
    cycles = select(less(cosine, kTooFar), cycles + 1, select(fewer, cycles - 1, cycles));
    cycles = maximum(cycles, 1);
    enough = select(fewer, 0 * enough, in_a_row);
  }
  const Var next = stack({part(kRuns) + 1, cycles, enough, last}, 0);
  const Var write = assign(value_.graph(), state_, next);
  Vars carried;
  for (Var carrier : carriers) {
    carried.push_back(after_writes(carrier, {write}));
  }
  return cosine.valid() ? with_report(carried, "multigrid_cosine", last) : carried;
}

}  // namespace antichain::multigrid
