// The body of a chain as it is on one of the grids.
#pragma once

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::multigrid {

/// Says for which grid a body is built.
struct GridOfBody {
  double stride = 1;          // steps of the chain that a step of the grid stands for
  bool is_coarse = false;     // on_coarse_grids(fine, coarse) is `coarse`
  bool keeps_stride = false;  // grid_stride() stays what it is, for whoever builds this again
};

/// Builds the ops of a body in the current region as they are on a grid, and returns its results.
Vars inline_body(Graph& graph, RegionId body, std::span<const Var> arguments,
                 const GridOfBody& grid);

/// Returns whether a body says what its step is on coarse grids.
bool says_coarse_step(Graph& graph, RegionId body);
/// Returns whether a body has a coarse step of another kind (on_coarse_grids).
bool has_own_coarse_step(Graph& graph, RegionId body);

}  // namespace antichain::multigrid
