// Passes do not change graphs, which only grow: they copy what is needed into another one, in their
// own way.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "antichain/graph/clone.h"
#include "antichain/graph/graph.h"

namespace antichain {

/// A graph of its own with the values and ops that were asked for.
struct GraphCopy {
  std::unique_ptr<Graph> graph;
  std::vector<Var> values;
  std::vector<Op> ops;  // that run for their effect
};

/// Returns a copy that has the states of `source` and no ops yet.
GraphCopy copy_of_states(const Graph& source);

/// Returns whether there is an op of which `f` says so, in any region.
template <class F>
bool has_op(Graph& graph, F f) {
  for (std::uint32_t id = 0; id < graph.num_ops(); ++id) {
    if (f(graph.op(OpId{id}))) {
      return true;
    }
  }
  return false;
}

/// Returns whether an op waits for nothing and leaves no check of sizes to the run, so that it may
/// be computed elsewhere or with others.
bool is_free(Op op);

/// How a copy differs from its original: see Cloner.
struct CopyRules {
  Cloner::Replace replace = {};
  Cloner::CopyOps copy_ops = {};
};

/// Returns the rules that replace ops one by one: `replace` returns what stands for the outputs of
/// an op, those or something equal. An op that waits for others stays, because its replacement
/// would not wait.
CopyRules replacing_ops(const Cloner::Replace& replace);

/// Copies what `values` and `ops` need into a new graph: equal ops become one, what nobody needs
/// stays behind. Inputs and states are all kept.
GraphCopy copy_graph(Graph& source, std::span<const Var> values, std::span<const Op> ops,
                     const CopyRules& rules = {});
GraphCopy copy_graph(const GraphCopy& source, const CopyRules& rules);
/// Does so with what ops of these kinds consist of in their place; returns nothing where there are
/// none.
std::optional<GraphCopy> taken_apart(const GraphCopy& source,
                                     const std::vector<const OpDef*>& kinds);

}  // namespace antichain
