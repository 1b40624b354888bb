#include "antichain/passes/graph_copy.h"

#include <algorithm>

#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"

namespace antichain {

GraphCopy copy_of_states(const Graph& source) {
  GraphCopy copy{std::make_unique<Graph>(source.dim_pool(), source.engines()), {}, {}};
  for (const StateInfo& state : source.states()) {
    copy.graph->add_state({state.name, state.type, {}, state.trainable, state.is_derived});
  }
  return copy;
}

bool is_free(Op op) { return op.control_edges().empty() && op.graph().constraints(op).empty(); }

CopyRules replacing_ops(const Cloner::Replace& replace) {
  return {.replace = [replace](Op twin) {
    return twin.control_edges().empty() ? replace(twin) : twin.outputs();
  }};
}

GraphCopy copy_graph(Graph& source, std::span<const Var> values, std::span<const Op> ops,
                     const CopyRules& rules) {
  GraphCopy copy = copy_of_states(source);
  Cloner cloner(source, *copy.graph, rules.replace, rules.copy_ops);
  for (Op input : source.inputs()) {
    cloner.copy(input);
  }
  std::vector<Op> needed = schedule(source, values, ops);
  std::erase_if(needed, [](Op op) { return &op.def() == &input_def(); });
  std::vector<Var> results(values.begin(), values.end());
  for (Op op : ops) {
    const std::vector<Var> outputs = op.outputs();
    results.insert(results.end(), outputs.begin(), outputs.end());
  }
  cloner.copy_all(needed, results);
  copy.values = cloner(values);
  for (Op op : ops) {  // an op that only computes may have become part of another one
    const bool computes = op.def().effect == Effect::none && op.num_outputs() > 0;
    copy.ops.push_back(computes ? cloner(op.output()).producer() : cloner.twin(op));
  }
  return copy;
}

GraphCopy copy_graph(const GraphCopy& source, const CopyRules& rules) {
  return copy_graph(*source.graph, source.values, source.ops, rules);
}

std::optional<GraphCopy> taken_apart(const GraphCopy& source,
                                     const std::vector<const OpDef*>& kinds) {
  const auto consists_of_parts = [&](Op op) { return std::ranges::count(kinds, &op.def()) > 0; };
  if (!has_op(*source.graph, consists_of_parts)) {
    return std::nullopt;
  }
  return copy_graph(source, replacing_ops([&](Op op) {
                      return consists_of_parts(op) ? op.def().decompose(op) : op.outputs();
                    }));
}

}  // namespace antichain
