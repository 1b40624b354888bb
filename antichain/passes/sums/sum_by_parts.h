// sum-by-parts: sums over the rows of a concatenation without putting it together.
//
// The gradients of gates that were cut from one product are joined again along their last axis, for
// the gradients of weights and biases: products and sums over all rows, of which there are many
// more than columns. The concatenation of such sums of the parts is the same, and small, and nobody
// writes the whole and reads it again. That is done where nobody else reads the whole.
//
// Several narrow products take the place of one that is wider: for devices on which both are bound
// by memory.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

GraphCopy sum_by_parts(const GraphCopy& source);

}  // namespace antichain
