#include "antichain/autodiff/outline.h"

#include <unordered_set>

#include "antichain/graph/clone.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow.h"

namespace antichain {

Op outline(const std::vector<Var>& ys, const std::vector<Var>& xs, const std::string& engine) {
  Graph& graph = ys[0].graph();
  const std::vector<Op> ops = schedule(graph, ys);
  std::unordered_set<VarId> inside;
  RegionScope scope(graph);
  Cloner cloner(graph, graph);
  for (Var x : xs) {
    inside.insert(x.id());
    cloner.map(x, scope.param(x.type()));
  }
  for (Op op : ops) {
    bool depends = false;
    for (Var input : op.inputs()) {
      depends = depends || inside.contains(input.id());
    }
    if (!depends || inside.contains(op.output().id())) {
      continue;
    }
    require<NotSupported>(op.def().effect == Effect::none,
                          "engine '{}' cannot differentiate through {}", engine, op.describe());
    for (Var input : op.inputs()) {
      if (!inside.contains(input.id())) {
        cloner.map(input, graph.capture(input));
      }
    }
    cloner.copy(op);
    for (Var output : op.outputs()) {
      inside.insert(output.id());
    }
  }
  std::vector<Var> results;
  for (Var y : ys) {
    results.push_back(inside.contains(y.id()) ? cloner(y) : graph.capture(y));
  }
  const RegionId region = scope.finish(results);
  std::vector<Var> inputs = xs;
  const std::vector<Var> captures = scope.captures();
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  return graph.add(call_def(), inputs, {{"engine", engine}}, {region});
}

}  // namespace antichain
