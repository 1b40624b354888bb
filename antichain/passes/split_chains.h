// split-chains: takes out of the bodies of chains what no later step needs: products and sums that
// only lead to results. The gradient of a layer's weights is such a product, and a sum over steps
// of gradients such a sum. What they read is stacked, and one op behind the chain computes them for
// all steps at once.
//
// That takes more memory, and sums are added in another order. It is for devices on which many
// small kernels are slow, and on which a chain of what is left can be one kernel.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

GraphCopy split_chains(const GraphCopy& source);

}  // namespace antichain
