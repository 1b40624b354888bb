// What can be set about engine `multigrid`.
#pragma once

#include <string>
#include <vector>

#include "antichain/base/settings.h"
#include "antichain/graph/engine_choice.h"

namespace antichain::multigrid {

inline constexpr const char* kEngine = "multigrid";

/// When chains are solved by multigrid; otherwise step by step.
enum class When { where_faster, always, never };

/// How a step of a coarse grid follows from the body.
enum class CoarseStep {
  chosen,     // by what the body looks like
  matched,    // as the fine steps to second order in the step size, from two evaluations
  matched3,   // likewise to third order, from three
  plain,      // as the first of them, times their number
  rescaled,   // the body itself with its step size multiplied (grid_stride, on_coarse_grids)
  rescaled2,  // likewise, matched to second order by a step and two of half the length
  same        // the body itself
};

/// What the first cycle starts from.
enum class Guess {
  coarse,  // a solve on the coarser grids
  first,   // the first state everywhere
  zero
};

/// How one problem, forward or adjoint, is solved.
struct SolveOptions {
  std::int64_t levels = 2;      // grids, at most
  std::int64_t coarsening = 8;  // steps of a grid that one step of the next coarser one stands for
  std::int64_t cycles = 2;      // at most, where there is a tolerance
  std::int64_t coarsest = 2;    // a grid has at least so many steps
  bool relaxes_fcf = false, relaxes_coarse_fcf = false;
  bool f_cycle = false;
  Guess guess = Guess::coarse;
  double tolerance = 0;  // of the residual, as a part of the states
  CoarseStep coarse = CoarseStep::chosen;
  std::int64_t adaptive = 0;  // runs of a training step from one check of the cycles to the next
  std::int64_t serial_after = 0;  // runs of a training step, after which steps go one by one
};

struct Options {
  When when = When::where_faster;
  SolveOptions forward, backward;
};

/// Lists the options.
std::vector<OptionSpec> option_specs();
Options read_options(const Settings& settings);
/// Returns the choice of this engine that solves a chain so, whether it is faster or not; it names
/// what regions do not start from.
EngineChoice always_so(const SolveOptions& options, const Settings& defaults);
/// Returns the name of a coarse step as the option has it.
std::string name(CoarseStep coarse);

}  // namespace antichain::multigrid
