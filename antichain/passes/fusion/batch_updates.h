// Optimiser steps on small parameters become one op, for devices on which starting a kernel takes
// longer than such a step does.
//
// A batch has updates by one rule with the same numbers, of one element type. It runs when the last
// of its gradients is there, so those are kept until then: large ones stay alone. Every element is
// computed as before.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

GraphCopy batch_updates(const GraphCopy& source);

}  // namespace antichain
