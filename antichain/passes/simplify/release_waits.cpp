#include "antichain/passes/simplify/release_waits.h"

#include <algorithm>

#include "antichain/graph/id_map.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

// Inside of chains and conds it is the op that decides whether the writes run.
bool only_waits(Op op) {
  Graph& graph = op.graph();
  const auto is_write = [&](const ControlEdge& edge) {
    return edge.required && graph.op(edge.before).def().effect == Effect::writes_state;
  };
  return &op.def() == &reshape_def() && op.input(0).shape() == op.output().shape() &&
         graph.region_of(op.output()) == kRootRegion && !op.control_edges().empty() &&
         std::ranges::all_of(op.control_edges(), is_write);
}

}  // namespace

GraphCopy release_waits(const GraphCopy& source) {
  std::vector<Op> ops = source.ops;
  IdSet<OpId> asked_for;
  for (Op op : ops) {
    asked_for.insert(op.id());
  }
  for (Op op : schedule(*source.graph, source.values, source.ops)) {
    if (!only_waits(op)) {
      continue;
    }
    for (const ControlEdge& edge : op.control_edges()) {
      if (asked_for.insert(edge.before)) {
        ops.push_back(source.graph->op(edge.before));
      }
    }
  }
  const auto replace = [](Op op) {
    return only_waits(op) ? std::vector<Var>{op.input(0)} : op.outputs();
  };
  return copy_graph(*source.graph, source.values, ops, {.replace = replace});
}

bool has_waits(Graph& graph) { return has_op(graph, only_waits); }

}  // namespace antichain
