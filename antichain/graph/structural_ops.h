// The two ops without which there is no graph; all others are in antichain/ops.
#pragma once

#include "antichain/graph/op_def.h"

namespace antichain {

/// A value fed at every run. Attributes: name, dtype, shape.
const OpDef& input_def();
/// A value known when the graph is built. Attribute: value.
const OpDef& constant_def();

}  // namespace antichain
