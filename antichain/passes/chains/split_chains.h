// split-chains: takes out of the bodies of chains what need not be computed step by step
// (loop-invariant code motion, LICM, of values that are computed for all steps at once; splitting
// of loops, "loop fission").
//
// Before the chain: products, and what follows them, that need no state. In a chain that goes back
// these are those of the chain that went forward. Behind the chain: products and sums that only
// lead to results. The gradient of a layer's weights is such a product, and a sum over steps of
// gradients such a sum. One op computes each of them for all steps at once, on stacked values.
//
// Sequences that no step reads, or no longer, are left out.
//
// That takes more memory, and sums are added in another order. It is for devices on which many
// small kernels are slow, and on which a chain of what is left can be one kernel.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

GraphCopy split_chains(const GraphCopy& source);

}  // namespace antichain
