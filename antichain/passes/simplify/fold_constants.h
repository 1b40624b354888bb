// The pass that computes what depends on constants alone.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies, with constants for the results of ops on constants, where they do not take more memory
/// than their operands did.
GraphCopy fold_constants(const GraphCopy& source);
/// Returns whether there are such ops.
bool has_folds(Graph& graph);

}  // namespace antichain
