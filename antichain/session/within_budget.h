// Where a memory budget meets the backend that the program is for.
#pragma once

#include "antichain/passes/graph_copy.h"
#include "antichain/session/session.h"

namespace antichain {

/// Returns the program so that it takes no more than options.memory_budget at options.plan_sizes.
GraphCopy within_budget(GraphCopy program, const CompileOptions& options, const Backend& backend);

}  // namespace antichain
