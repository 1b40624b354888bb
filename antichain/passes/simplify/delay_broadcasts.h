// The pass that computes on values before they are repeated.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies with element-wise ops on what a broadcast repeats instead of on the repetitions, and the
/// broadcast behind them where it is still needed.
GraphCopy delay_broadcasts(const GraphCopy& source);
/// Returns whether there are element-wise ops on what a broadcast repeats.
bool has_repeated_operands(Graph& graph);

}  // namespace antichain
