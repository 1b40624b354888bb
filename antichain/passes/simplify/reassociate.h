// The pass that adds and multiplies in a cheaper order: x + 1 - 2 + x becomes 2x - 1, and
// x + a + y + b, with small a and b, becomes (a + b) + x + y.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

struct ReassociateOptions {
  bool floats = false;  // also where another order rounds differently
};

/// Copies with sums and products put together anew where that takes fewer or smaller ops. Integers
/// wrap around, so that any order gives the same.
GraphCopy reassociate(const GraphCopy& source, const ReassociateOptions& options);
/// Returns whether there are sums or products whose order may be changed.
bool has_free_order(Graph& graph, const ReassociateOptions& options);

}  // namespace antichain
