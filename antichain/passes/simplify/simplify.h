// The pass that applies the ops' local rewrites.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies, applying OpDef::rewrites on the way until none fires.
GraphCopy simplify(const GraphCopy& source);

}  // namespace antichain
