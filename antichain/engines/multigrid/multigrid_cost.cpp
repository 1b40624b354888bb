#include "antichain/engines/multigrid/multigrid_cost.h"

#include <fmt/format.h>

#include <cmath>

namespace antichain::multigrid {

namespace {

// How much longer a step takes within a relaxation of all intervals than in the chain itself, whose
// body is compiled into one loop that keeps its states close: between 1.2 and 4 for peaks-odenet
// with widths of 8 and 64, on two threads (docs/results/multigrid.md).
constexpr double kRelaxedStep = 2;
constexpr double kThreadsMeasured = 2;

double evaluations(CoarseStep coarse) {
  switch (coarse) {
    case CoarseStep::matched: return 2;
    case CoarseStep::matched3:
    case CoarseStep::rescaled2: return 3;
    case CoarseStep::chosen:
    case CoarseStep::plain:
    case CoarseStep::rescaled:
    case CoarseStep::same: break;
  }
  return 1;
}

}  // namespace

double SolveCost::threads_to_pay() const {
  return serial < 1 ? std::ceil(shared / (1 - serial)) : 0;
}

SolveCost solve_cost(const SolveOptions& options, std::int64_t levels) {
  const auto cycles = static_cast<double>(options.cycles);
  const auto m = static_cast<double>(options.coarsening);
  const double relaxations = 1 + cycles * (1 + static_cast<double>(options.relaxations));
  const double solves = cycles + (options.guess == Guess::coarse ? 1 : 0);
  SolveCost cost{.shared = kRelaxedStep * relaxations};
  double size = 1;  // of a grid, as a part of the finest
  for (std::int64_t level = 1; level < levels; ++level) {
    size /= m;
    const double work = size * evaluations(options.coarse);
    cost.shared += kRelaxedStep * cycles * work;  // the coarse step of all intervals
    if (level + 1 < levels) {
      cost.shared +=
          kRelaxedStep * solves * work * (2 + static_cast<double>(options.coarse_relaxations));
    } else {
      cost.serial = solves * work;
    }
  }
  return cost;
}

std::string why_step_by_step(const SolveOptions& options, std::int64_t levels) {
  const SolveCost cost = solve_cost(options, levels);
  const std::string pays =
      cost.threads_to_pay() > 0
          ? fmt::format("it could pay from some {:.0f} threads on", cost.threads_to_pay())
          : std::string("it cannot pay, as its coarsest grid is nearly as long as the chain");
  return fmt::format(
      "step by step: a solve in {} cycles takes about {:.1f} times as long on two threads, and {} "
      "(when=always solves by multigrid all the same)",
      options.cycles, cost.shared / kThreadsMeasured + cost.serial, pays);
}

}  // namespace antichain::multigrid
