// The pass that applies the ops' local rewrites, shares equal ops and drops what nobody needs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "antichain/graph/clone.h"
#include "antichain/graph/graph.h"

namespace antichain {

/// A graph of its own with the values and ops that were asked for.
struct GraphCopy {
  std::unique_ptr<Graph> graph;
  std::vector<Var> values;
  std::vector<Op> ops;
};

/// Returns a copy that has the states of `source` and no ops yet.
GraphCopy copy_of_states(const Graph& source);

struct SimplifyOptions {
  bool rewrites = true;  // apply OpDef::rewrites; without it the copy is plain
  /// Copies an op in a way of its own and maps its outputs, or returns false; not asked for inputs.
  std::function<bool(Cloner&, Graph& target, Op)> replace = {};
};

/// Copies what `values` and `ops` need into a new graph, rewriting on the way. Inputs and states
/// are all kept.
GraphCopy simplify(Graph& source, std::span<const Var> values, std::span<const Op> ops,
                   const SimplifyOptions& options = {});

}  // namespace antichain
