#include "antichain/autodiff/outline.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/autodiff/walk.h"
#include "antichain/graph/clone.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

Op outline(const std::vector<Var>& ys, const std::vector<Var>& xs, const EngineChoice& engine) {
  Graph& graph = ys[0].graph();
  const std::vector<OpId> ancestors = find_ancestors(graph, ys, Reach::graph);
  RegionScope scope(graph);
  Cloner cloner(graph, graph);
  std::unordered_map<VarId, Var> inside;  // the xs and what depends on them
  std::unordered_set<VarId> boundary;
  for (Var x : xs) {
    inside[graph.origin(x).id()] = scope.param(x.type());
    boundary.insert(graph.origin(x).id());
  }
  const auto here = [&](Var value) {
    const auto found = inside.find(graph.origin(value).id());
    return found != inside.end() ? found->second : graph.capture(graph.origin(value));
  };
  for (OpId id : ancestors) {
    const Op op = graph.op(id);
    const std::vector<Var> inputs = op.inputs(), outputs = op.outputs();
    const auto is_inside = [&](Var value) { return inside.contains(graph.origin(value).id()); };
    if (std::none_of(inputs.begin(), inputs.end(), is_inside) ||
        std::all_of(outputs.begin(), outputs.end(), is_inside)) {
      continue;
    }
    require<NotSupported>(op.def().effect == Effect::none,
                          "engine '{}' cannot differentiate through {}", engine.name(), op);
    for (Var input : inputs) {
      cloner.map(input, here(input));
    }
    const std::vector<Var> copies = cloner.copy(op);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!boundary.contains(outputs[i].id())) {
        inside[outputs[i].id()] = copies[i];
      }
    }
  }
  std::vector<Var> results;
  for (Var y : ys) {
    results.push_back(here(y));
  }
  const RegionId region = scope.finish(results);
  std::vector<Var> inputs = xs;
  const std::vector<Var> captures = scope.captures();
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  return graph.add(call_def(), inputs, {{"engine", engine.attribute()}}, {region});
}

}  // namespace antichain
