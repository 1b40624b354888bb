// recall-steps: reads what a chain has returned instead of computing it again for all steps.
//
// Who differentiates a chain computes its body for all steps at once (ops/vmap/vmap_region.h), from
// the stacked states before each step: for h' = tanh(x + W h) the derivative needs h'. If the chain
// returns h' beside its states, that is the same value, and is read instead.
//
// A product of all steps may be rounded otherwise than those of single steps. The values stay those
// of the chain; it is for devices on which reading takes a fraction of the time of computing.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

GraphCopy recall_steps(const GraphCopy& source);

}  // namespace antichain
