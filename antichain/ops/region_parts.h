// What the derivative rules of region ops share.
#pragma once

#include "antichain/ops/control_flow.h"

namespace antichain {

/// Returns the values as seen from the region that is being built.
Vars captured_here(Graph& graph, const Vars& vars);

}  // namespace antichain
