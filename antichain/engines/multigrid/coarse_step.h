// The steps of coarse grids, from the body of a chain.
//
// With d(u) = Φ(u) - u, what a step of the chain changes, and s steps to stand for:
//   plain     u + s d(u)
//   matched   u + s d(u + (s - 1)/2 d(u)): for u' = f(u), of which Φ is an explicit Euler step, it
//             agrees with s such steps to second order; matched3, with one evaluation more, to
//             third
//   rescaled  Φ_s(u), the body where grid_stride() is s and on_coarse_grids(fine, coarse) is
//             `coarse`
//   rescaled2 a Φ_s(u) + (1 - a) Φ_s/2(Φ_s/2(u)), a = 2/s - 1: agrees with s steps to second order
//   same      Φ(u)
// Sequences are taken as their means over the steps; by plain and same at the first of them.
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
