// The pass that puts what follows a matrix product or a convolution (its epilogue: bias,
// activation, residual, the mask of a gradient) together with it into a `fused_product`, forward
// and backward alike, in every region.
//
// Which: a product whose value has exactly one reader, a `fused` op or an element-wise op that
// computes values of the product's shape from it, becomes one op with that reader. Of several
// products that an op reads (x W + h U + b), it is the last. A matrix product over an axis known to
// be short stays by itself: it is cut by its work, of which there is little per element, into
// blocks that no cache of a thread holds. No cycle arises: the product moves behind everything that
// stands between it and its reader, and nothing there can need it, as nobody else reads it; what
// the product itself needs stands before it and hence before the reader. What waits for others or
// is waited for by control edges, may find that sizes do not match, or makes a result of its region
// stays by itself.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies, with one op for each such pair.
GraphCopy fuse_products(const GraphCopy& source);

}  // namespace antichain
