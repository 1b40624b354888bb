// The pass that puts element-wise ops, and reductions of rows, together into `fused` ops, forward
// and backward alike, in every region.
//
// Reductions of rows are brought to one form first (row_form.h). Then every op that may be fused
// belongs to one class, that of a domain: a shape, and the shape of its rows, which most reductions
// of values of that shape reduce to (others stay as they are). Its members are element-wise ops of
// the shape, those reductions, and element-wise ops of the shape of rows that read what another
// member has computed for rows. Between members no step is taken from an element-wise op of the
// domain to another one or to a reduction, and from a reduction or an op on rows to an op on rows
// or of the domain; a reduction that drops its axes, as one to a number does, ends the path.
//
// Which ops belong together: let the rank of an op be the most steps on a path to it, where
// anything but the above is one step. Ops of the same class and rank that are connected, by a value
// that one makes for another or that both read, become one. No path leaves such a group and comes
// back, because ranks do not fall along a path: all of a path that comes back has one rank, so it
// takes no step, stays in one class, and its ops are connected. So the groups can run one after the
// other.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies, with fused ops for groups of two ops or more.
GraphCopy fuse_elementwise(const GraphCopy& source);
/// Does so, and lets groups compute wide values again (recomputed_values.h).
GraphCopy fuse_recomputing(const GraphCopy& source);

}  // namespace antichain
