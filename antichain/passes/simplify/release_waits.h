// The pass that lets nobody wait for writes that run anyway.
//
// A layer may say that its output waits for writes of states, so that whoever computes the output
// updates them (nn::batch_norm does): by an op that changes nothing but has control edges. In an
// executable all that is needed runs, so the writes may be asked for by themselves; what is before
// such an op and what is behind it can then be computed together.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies without reshapes to the same shape that only wait for writes, at the top level.
GraphCopy release_waits(const GraphCopy& source);
/// Returns whether there are such reshapes.
bool has_waits(Graph& graph);

}  // namespace antichain
