// The pass that puts element-wise ops together into `fused` ops, forward and backward alike, in
// every region.
//
// Which ops belong together: let the rank of an op be the most steps on a path to it, where going
// from an element-wise op to another one of the same shape is no step and anything else is one. Ops
// of the same shape and rank that are connected, by a value that one makes for another or that both
// read, become one. No path leaves such a group and comes back, because ranks do not fall along a
// path: so the groups can run one after the other.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies, with fused ops for groups of two element-wise ops or more.
GraphCopy fuse_elementwise(const GraphCopy& source);

}  // namespace antichain
