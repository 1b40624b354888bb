// Which ops are needed, and in which order they can run. Iterative: a chain of 100,000 ops is no
// problem.
#pragma once

#include <span>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// Returns the ops of one region that `values` and `ops` need, in an order that respects data and
/// control edges and otherwise follows build order. Throws InvalidArgument naming the ops when
/// control edges form a cycle.
std::vector<Op> schedule(Graph& graph, std::span<const Var> values, std::span<const Op> ops = {});

/// Returns the ops of the region that its results need, in order.
std::vector<Op> schedule_region(Graph& graph, RegionId region);

}  // namespace antichain
