// The states of a chain by Newton's method: all steps at once, instead of one after the other.
//
// A guess s[0], …, s[T] of all states, of which s[0] is right, misses what the steps make of it by
// r[t] = f(s[t]) - s[t + 1]. To first order it is right after s += d, where d[t + 1] = J[t] d[t] +
// r[t] and d[0] = 0: an affine recurrence, which is one scan. (Lim et al., 2024: "Parallelizing
// non-linear sequential models over the sequence length".)
#pragma once

#include <string>

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::scan {

/// Says why a chain cannot be run by Newton's method; empty if it can.
std::string why_not_newton(Op chain);

struct NewtonOptions {
  std::string algorithm = {};  // attributes of affine_scan; empty and 0: the backend chooses
  std::int64_t chunk = 0;
  // How far, as a part of the largest state, a state may be from what its step makes of the one
  // before; 0: what the element type allows.
  double tolerance = 0;
  std::int64_t iterations = 16;  // at most; then the steps run one by one after all
  /// Returns a value like `state`, and tells whoever should know that the method gave up with this
  /// residual, as a part of the largest state, after so many iterations.
  std::function<Var(Var state, Var residual, Var iterations)> gave_up;
  bool keeps_reports = false;  // residual and iterations of each run as series (with_report)
};

/// Returns what stands for the outputs of a chain, as ordinary ops in the current region: a loop
/// over Newton's iterations, and the chain step by step for the case that they do not converge.
Vars newton_chain(Op chain, const NewtonOptions& options);

/// Returns the tolerance that a chain is run with.
double newton_tolerance(Op chain, const NewtonOptions& options);

}  // namespace antichain::scan
