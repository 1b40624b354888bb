// The pass that keeps channels last, [n, spatial..., c], around the convolutions that are faster
// so: the layout that libraries compute in without copies of their own.
//
// Ops say what they do with channels last (OpDef::channels_last): convolutions, pools and batch
// norms by an attribute, reductions and some reshapes by other axes, element-wise ops in any case,
// with operands of fewer axes (a bias per channel) seen in the shape that repeats them along the
// right ones. Which ops are changed is decided by layout_costs.h for each region by itself,
// forwards and backwards alike, also in the bodies of chains, loops and conds. What enters or
// leaves a body, as the state of a chain does from step to step, keeps its layout: another one
// would change all regions of the op and whoever else uses them.
#pragma once

#include "antichain/passes/compiler_options.h"
#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies, with transposes at the borders of what computes with channels last. Without a gain
/// nothing does.
GraphCopy choose_layouts(const GraphCopy& source, const LayoutGain& gain);

}  // namespace antichain
