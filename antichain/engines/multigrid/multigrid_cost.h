// What a multigrid solve costs beside the steps one after the other.
#pragma once

#include <string>

#include "antichain/engines/multigrid/multigrid_options.h"

namespace antichain::multigrid {

/// Costs in units of the time of all steps one after the other on one thread.
struct SolveCost {
  double shared = 0;  // relaxations, which threads could share
  double serial = 0;  // steps of the coarsest grid
  // How often the finest grid is relaxed and each coarser one solved, and how often a coarse step
  // evaluates the body.
  double relaxations = 0, solves = 0, evaluations = 0;

  /// Returns the number of threads from which on a solve could be faster; 0: none.
  double threads_to_pay() const;
};

SolveCost solve_cost(const SolveOptions& options, std::int64_t levels);

/// Says why a chain is not solved by multigrid unless it is asked for.
std::string why_step_by_step(const SolveOptions& options, std::int64_t levels);

}  // namespace antichain::multigrid
