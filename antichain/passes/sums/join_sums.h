// join-sums: several sums over the same rows in one walk over them.
//
// The gradient of a recurrent layer ends with products and sums over all steps and sequences, of
// few matrices with each other: what reaches the gates times states, inputs and ones. Each of them
// reads its matrices again, and that is what bounds it. Those that share matrices become one
// `row_products`, of which each takes its part: for devices that have a kernel for it.
//
// A sum of rows is a product with ones; only what some product reads is looked at, because then it
// is in memory.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

GraphCopy join_sums(const GraphCopy& source);

}  // namespace antichain
