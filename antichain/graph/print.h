// Graphs as text, for people.
#pragma once

#include <string>

#include "antichain/graph/graph.h"

namespace antichain {

/// Returns one line per op: "%3: f32[batch, 512] = matmul(%1, w) {transpose_b=true}".
std::string print_text(Graph& graph);
/// Returns the graph for Graphviz: ops as boxes, values as edges, control edges dashed, regions as
/// clusters.
std::string print_dot(Graph& graph);

}  // namespace antichain
