// Engines that run their regions forward in their own way, when a graph is compiled.
#pragma once

#include <span>

#include "antichain/autodiff/engine.h"
#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Returns a copy in which such engines have replaced their regions, first of all passes:
/// derivatives have been built by then. Without a graph of its own where there is no such engine.
GraphCopy run_forward_by_engines(Graph& graph, std::span<const Var> outputs,
                                 std::span<const Op> effects, const ForwardContext& context);

}  // namespace antichain
