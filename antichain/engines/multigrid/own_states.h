// Names of what a solve keeps from one training step to the next.
#pragma once

#include <string>

#include "antichain/graph/graph.h"

namespace antichain::multigrid {

/// Returns `name`, with a number behind it where the open scope has such a state already. In eager
/// mode the same line runs again and again, and goes on with its state.
std::string free_state_name(const Graph& graph, const std::string& name);

}  // namespace antichain::multigrid
