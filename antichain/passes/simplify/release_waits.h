// The pass that drops control edges from a value to a state write when only the write's own effect
// is needed.
//
// A layer may say that its output waits for writes of states, so that whoever computes the output
// updates them (nn::batch_norm does): by an op that changes nothing but has control edges. In an
// executable such writes become ops that run for their effect; what comes before the waiting op and
// what comes after it can then be fused.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies without reshapes to the same shape that only wait for writes, at the top level.
GraphCopy release_waits(const GraphCopy& source);
/// Returns whether there are such reshapes.
bool has_waits(Graph& graph);

}  // namespace antichain
