// What the body of a chain says about steps on coarser grids, for engines that solve chains by
// multigrid. Elsewhere a chain is stepped through on its own grid, and these ops are nothing.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Returns how many steps of the chain one step of the body stands for, as a number of this type:
/// 1, or more on the coarse grids of engine `multigrid`. A body that multiplies its step size by it
/// has a coarse step.
Var grid_stride(Graph& graph, DType dtype, Place place = Place::current());

/// Returns `fine` or, on the coarse grids of engine `multigrid`, `coarse`, which must agree in type
/// and shape: a coarse step of another kind.
Var on_coarse_grids(const Operand& fine, const Operand& coarse);

const OpDef& grid_stride_def();
const OpDef& on_coarse_grids_def();

std::vector<const OpDef*> grid_step_family();

}  // namespace antichain
