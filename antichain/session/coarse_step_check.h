// A self-test for bodies of chains that say what their step is on coarse grids, by grid_stride() or
// on_coarse_grids(fine, coarse): for users of engine `multigrid`, before they train with it.
#pragma once

#include <vector>

#include "antichain/runtime/executable.h"
#include "antichain/session/session.h"

namespace antichain {

/// How the coarse step of a chain behaves, at the chain's first states.
struct CoarseStepCheck {
  // How far the coarse step of stride 1 is from the fine one, as a part of what that changes: 0
  // where both are the same, small where they solve the same equation.
  double from_fine = 0;
  // How far one coarse step of stride 2, 1, 1/2, … is from two of half the stride.
  std::vector<double> differences;

  /// Returns the power of the stride with which the differences fall in the end: 2 or more where
  /// steps of any length follow the same equation; 1 or less where a longer step is not two shorter
  /// ones, and multigrid will converge slowly or not at all. Infinite where there is no difference.
  double order() const;
  bool is_consistent() const;
};

/// Tries the coarse step of the chain that `output` is an output of. Throws InvalidArgument where
/// it is no such chain.
CoarseStepCheck check_coarse_step(Session& session, Var output, const Feeds& feeds = {});

}  // namespace antichain
