// What region ops share.
#pragma once

#include "antichain/graph/kernel_context.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

/// Returns the values as seen from the region that is being built.
Vars captured_here(Graph& graph, const Vars& vars);

/// Runs a region whose results are the outputs of the op.
void run_whole_region(KernelContext& context, int region, std::span<const Tensor* const> arguments);

}  // namespace antichain
