// A sequential model as stages: the values that everything flows through.
#pragma once

#include <span>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain::scan {

/// Returns the values through which every path goes from the first of them to `end`, the last, in
/// order. The first is the value, of all that depend on a start, with the longest way to the end:
/// in a network whose weights are the starts the first layer, and later weights join in on the way.
/// Paths lead through floating-point values of one region that ops with a derivative compute; the
/// starts themselves are not among what is returned. Empty where `end` depends on none of them.
std::vector<Var> find_cuts(Graph& graph, std::span<const Var> starts, Var end);

}  // namespace antichain::scan
