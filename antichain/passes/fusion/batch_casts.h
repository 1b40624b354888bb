// The pass that converts values together, for devices on which starting a kernel takes longer than
// converting a small one: parameters to the type that is computed in, when a run begins, and
// gradients back, when somebody needs one of them. Bodies of chains stay as they are.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies, with one `cast_all` for several conversions of the same types.
GraphCopy batch_casts(const GraphCopy& source);

}  // namespace antichain
