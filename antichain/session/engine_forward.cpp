#include "antichain/session/engine_forward.h"

namespace antichain {

namespace {

// Copies keep no scopes, but what an engine builds and reports is called by that of its region.
void copy_in_scopes(Cloner& cloner, std::span<const Op> ops, const EngineSet& engines) {
  const bool is_root = cloner.target().current_region() == kRootRegion;
  for (Op op : ops) {
    if (is_root && engines.replaces_forward(op)) {
      const ScopeGuard scope(cloner.target(), op.scope());
      cloner.copy(op);
    } else {
      cloner.copy(op);
    }
  }
}

}  // namespace

GraphCopy run_forward_by_engines(Graph& graph, std::span<const Var> outputs,
                                 std::span<const Op> effects, const ForwardContext& context) {
  const EngineSet* const engines = graph.engines().get();
  const auto is_replaced = [&](Op op) { return engines->replaces_forward(op); };
  if (!engines || !has_op(graph, is_replaced)) {
    return {nullptr, {outputs.begin(), outputs.end()}, {effects.begin(), effects.end()}};
  }
  CopyRules rules = replacing_ops([&](Op op) { return engines->forward(op, context); });
  rules.copy_ops = [&](Cloner& cloner, std::span<const Op> ops, std::span<const Var>) {
    copy_in_scopes(cloner, ops, *engines);
  };
  return copy_graph(graph, outputs, effects, rules);
}

}  // namespace antichain
