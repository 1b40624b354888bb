// Chains that are solved by multigrid instead of step by step.
#pragma once

#include "antichain/autodiff/engine.h"
#include "antichain/engines/multigrid/multigrid_options.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::multigrid {

/// Says why the states of a chain cannot be solved for; empty if they can.
std::string why_not_solved(Op chain, CoarseStep coarse);

/// Returns what stands for the outputs of a chain, as ordinary ops in the current region.
Vars solve_chain(Op chain, const SolveOptions& options, const ForwardContext& context);

}  // namespace antichain::multigrid
