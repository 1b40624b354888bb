// The invariants of graph.h, checked.
#pragma once

#include "antichain/graph/graph.h"

namespace antichain {

/// Throws InternalError naming the op when an invariant is broken, InvalidArgument when control
/// edges form a cycle.
void verify(Graph& graph);

}  // namespace antichain
