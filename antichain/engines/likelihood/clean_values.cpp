#include "antichain/engines/likelihood/clean_values.h"

#include <algorithm>

#include "antichain/autodiff/engine.h"
#include "antichain/engines/likelihood/likelihood_engine.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::likelihood {

EngineChoice own_choice(Op op) {
  const EngineChoice choice = engine_choice(op);
  return choice.name() == kLikelihood ? EngineChoice(kBackprop) : choice;
}

void copy_as_part(Cloner& cloner, Op op) {
  if (engine_choice(op) == own_choice(op)) {
    cloner.copy(op);
    return;
  }
  Attrs attrs = op.attrs();
  attrs.set("engine", std::string());
  const Op twin = cloner.copy_with(op, cloner(op.inputs()), attrs);
  for (int i = 0; i < op.num_outputs(); ++i) {
    cloner.map(op.output(i), twin.output(i));
  }
}

std::vector<Var> clean_results(Graph& graph, RegionId region, const std::vector<Var>& arguments) {
  CleanValues values(graph, region, arguments);
  std::vector<Var> results;
  for (Var result : graph.vars(graph.region(region).results)) {
    results.push_back(values(result));
  }
  return results;
}

CleanValues::CleanValues(Graph& graph, RegionId region, const std::vector<Var>& arguments)
    : graph_(graph), ops_(schedule_region(graph, region)), cloner_(graph, graph) {
  const std::vector<Var> params = graph.vars(graph.region(region).params);
  ensure(params.size() == arguments.size(), "a region with {} parameters gets {} arguments",
         params.size(), arguments.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    cloner_.map(params[i], graph.capture(arguments[i]));
    known_.insert(params[i].id());
  }
}

Var CleanValues::operator()(Var original) {
  std::unordered_set<VarId> wanted = {original.id()};
  std::vector<Op> needed;
  for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
    const auto is_wanted = [&](Var value) {
      return wanted.contains(value.id()) && !known_.contains(value.id());
    };
    if (std::ranges::any_of(op->outputs(), is_wanted)) {
      needed.push_back(*op);
      for (Var input : op->inputs()) {
        wanted.insert(input.id());
      }
    }
  }
  for (auto op = needed.rbegin(); op != needed.rend(); ++op) {
    copy_as_part(cloner_, *op);
    for (Var output : op->outputs()) {
      known_.insert(output.id());
    }
  }
  return cloner_(original);
}

}  // namespace antichain::likelihood
