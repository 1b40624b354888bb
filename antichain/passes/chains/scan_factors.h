// scan-factors: reads what a weighted scan multiplies weights by instead of computing it again.
//
// A scan of weights walks back through a recurrent layer: g := W (c ∘ g), with c the derivative of
// an element-wise op, f(1, y). What reaches the weight from the gradients g of all steps is then
// f(g, y), and that is c ∘ g: the scan has it already, and returns it where somebody wants it.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

GraphCopy scan_factors(const GraphCopy& source);

}  // namespace antichain
