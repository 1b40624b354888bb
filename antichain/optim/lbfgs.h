// Limited-memory BFGS with a line search, all of it inside one executable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "antichain/optim/step_options.h"

namespace antichain::optim {

/// How an iteration comes to the length of its step.
enum class LineSearch {
  wolfe,         // until both Wolfe conditions hold, by losses and gradients
  backtracking,  // halved until the loss decreases enough, by losses alone
  none  // always lr, as in one-shot methods, whose loss is only known while it is solved for
};

struct LbfgsOptions {
  double lr = 1;                      // the first step length that the line search tries
  std::int64_t history = 10;          // how many pairs (s, y) are kept
  std::int64_t max_evaluations = 20;  // of the loss and its gradient, by one line search
  double decrease = 1e-4;             // of the loss, as a part of what its slope promises
  double curvature = 0.9;             // how much of the slope may remain; above `decrease`, below 1
  ParameterFilter parameters = {};    // which are trained; empty: all that the loss depends on
  EngineChoice engine = {};           // who differentiates
  std::vector<Var> gradient_at = {};  // where the gradient is cut; see GradOptions::at
  LineSearch line_search = LineSearch::wolfe;
  std::string name = "optimiser";  // of its states; two optimisers in a graph need two names
};

/// Builds one iteration of L-BFGS and returns the updates, for CompileOptions::updates: direction d
/// from the last pairs s = change of the parameters and y = change of the gradient (Nocedal and
/// Wright, 2006, algorithms 7.4 and 7.5), step length t by bisection until both Wolfe conditions
/// hold (Lewis and Overton, 2013, algorithm 2.6):
///   f(x + t d) <= f(x) + decrease * t * f'(x) d,   f'(x + t d) d >= curvature * f'(x) d
/// and parameters that stay where they are when no t is found. A pair whose s y is too small is
/// left out. The first step, without pairs, tries lr * min(1, 1 / |g|_1). All evaluations are made
/// on what is fed to the run: use large batches, best always the same. Buffers: "<name>.s" and
/// "<name>.y", one row per pair, of all parameters in a row.
/// With LineSearch::backtracking or none, a pair is of two iterations, one after the other: s is
/// the step between them and y what the gradient changed by, of the batches that were fed. So an
/// iteration has one gradient. More buffers: "<name>.last_step" and "<name>.last_gradient".
std::vector<Var> lbfgs(Var loss, const LbfgsOptions& options = {});

}  // namespace antichain::optim
