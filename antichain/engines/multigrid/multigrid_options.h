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
  coarse,      // a solve on the coarser grids
  first,       // the first state everywhere
  zero,        // zeros
  batch,       // what the last solve of the same batch found
  class_means  // the means of earlier solves over the examples of a class
};

/// How one problem, forward or adjoint, is solved.
struct SolveOptions {
  std::int64_t levels = 2;      // grids, at most
  std::int64_t coarsening = 8;  // steps of a grid that one step of the next coarser one stands for
  std::int64_t cycles = 2;      // at most, where there is a tolerance
  std::int64_t coarsest = 2;    // a grid has at least so many steps
  // C-relaxations, each followed by an F-relaxation, behind the first F-relaxation of a cycle.
  std::int64_t relaxations = 0, coarse_relaxations = 0;
  double relaxation_weight = 1;  // of what a C-relaxation finds; the rest is what was there before
  bool final_fcf = false;        // the last relaxation of a solve is FCF
  bool f_cycle = false;
  Guess guess = Guess::coarse;
  double tolerance = 0;           // of the residual, as a part of the states
  double absolute_tolerance = 0;  // of the residual's norm
  CoarseStep coarse = CoarseStep::chosen;
  std::int64_t adaptive = 0;  // runs of a training step from one check of the cycles to the next
  std::int64_t serial_after = 0;  // runs of a training step, after which steps go one by one
  std::int64_t groups = 0;        // of intervals that threads relax; 0: one computation for all
  std::int64_t batches = 1;       // runs from one solve of a batch to the next, for Guess::batch
  std::int64_t classes = 0;       // for Guess::class_means
  std::string labels = {};        // the input that tells the class of each example
  std::int64_t guess_memory = 0;  // the most MB that a first guess keeps
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
/// Returns the name of a coarse step, or of a first guess, as the option has it.
std::string name(CoarseStep coarse);
std::string name(Guess guess);

}  // namespace antichain::multigrid
