// The steps of coarse grids, from the body of a chain.
//
// With d(u) = Φ(u) - u, what a step of the chain changes, and s steps to stand for:
//   plain     u + s d(u)
//   matched   u + s d(u + (s - 1)/2 d(u)): for u' = f(u), of which Φ is an explicit Euler step, it
//             agrees with s such steps to second order
//   rescaled  the body where grid_stride() is s and on_coarse_grids(fine, coarse) is `coarse`
//   same      Φ(u)
// Sequences are taken at the first of the steps or, for the second and third, as their means.
#pragma once

#include <string>

#include "antichain/engines/multigrid/multigrid_options.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::multigrid {

/// Returns the coarse step that is meant for a chain; `chosen` where the body does not tell.
CoarseStep coarse_step_of(Op chain, CoarseStep asked);
/// Says why a chain has no coarse step, and what to do.
std::string no_coarse_step();

/// Returns whether a coarse step takes the means of sequences over the steps that it stands for.
bool takes_means(CoarseStep coarse);

/// Builds a step of a chain with that stride as a region (position, states, x slices) -> states,
/// and ys on the grid of the chain itself, stride 1. The values that it captures are those of the
/// current region.
struct GridStep {
  RegionId region;
  Vars captured;
};
GridStep grid_step(Op chain, CoarseStep coarse, std::int64_t stride);

}  // namespace antichain::multigrid
