// The pass that replaces ops which the backend has no kernel for by what they consist of, so that
// they need not run on the host. The parts are fused with their neighbours afterwards.
#pragma once

#include <functional>

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies, with the decompositions of the ops of which `is_missing` says so, and of their parts.
GraphCopy decompose(const GraphCopy& source, const std::function<bool(Op)>& is_missing);

}  // namespace antichain
