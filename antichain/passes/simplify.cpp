#include "antichain/passes/simplify.h"

#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"

namespace antichain {

namespace {

constexpr int kMaxRewritesPerOp =
    16;  // every rule makes things smaller; this catches one that does not

// Applies rules until none fires. A rule may build an op to which another rule applies.
std::vector<Var> rewrite(Op op) {
  std::vector<Var> outputs = op.outputs();
  for (int round = 0; round < kMaxRewritesPerOp; ++round) {
    bool fired = false;
    for (const Rewrite& rule : op.def().rewrites) {
      if (auto replaced = rule.apply(op)) {
        outputs = std::move(*replaced);
        fired = true;
        break;
      }
    }
    if (!fired || outputs.size() != 1 || op.graph().is_region_param(outputs[0])) {
      return outputs;
    }
    op = outputs[0].producer();
  }
  return outputs;
}

}  // namespace

GraphCopy copy_of_states(const Graph& source) {
  GraphCopy copy{std::make_unique<Graph>(source.dim_pool(), source.engines()), {}, {}};
  for (const StateInfo& state : source.states()) {
    copy.graph->add_state({state.name, state.type, {}, state.trainable});
  }
  return copy;
}

GraphCopy simplify(Graph& source, std::span<const Var> values, std::span<const Op> ops,
                   const SimplifyOptions& options) {
  GraphCopy copy = copy_of_states(source);
  std::unordered_map<OpId, Op> twins;
  Op last_twin;
  Cloner cloner(source, *copy.graph, [&](Op twin) {
    last_twin = twin;
    // An op that waits for others stays, because its replacement would not wait.
    return options.rewrites && twin.control_edges().empty() ? rewrite(twin) : twin.outputs();
  });
  for (Op input : source.inputs()) {
    cloner.copy(input);
    twins[input.id()] = last_twin;
  }
  for (Op op : schedule(source, values, ops)) {
    if (&op.def() != &input_def() &&
        !(options.replace && options.replace(cloner, *copy.graph, op))) {
      cloner.copy(op);
      twins[op.id()] = last_twin;
    }
  }
  copy.values = cloner(values);
  for (Op op : ops) {
    copy.ops.push_back(twins.at(op.id()));
  }
  return copy;
}

}  // namespace antichain
