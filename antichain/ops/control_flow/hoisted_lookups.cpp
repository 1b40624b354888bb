#include "antichain/ops/control_flow/hoisted_lookups.h"

#include <algorithm>

#include "antichain/graph/clone.h"
#include "antichain/ops/indexing/indexing.h"

namespace antichain {

namespace {

// Where the inputs of a chain are among the parameters of its body, behind the step.
struct Params {
  Vars all;
  std::size_t first_x, first_captured;

  Params(Graph& graph, const Vars& states, const ChainParts& chain)
      : all(graph.vars(graph.region(chain.body).params)),
        first_x(1 + states.size()),
        first_captured(first_x + chain.xs.size()) {}
  // The number of a parameter; that of all where it is none.
  std::size_t find(Var value) const {
    return static_cast<std::size_t>(std::ranges::find(all, value) - all.begin());
  }
};

bool is_parameter(Graph& graph, Var value) {
  const Var origin = graph.origin(value);
  if (graph.is_region_param(origin) || origin.producer().def().effect != Effect::reads_state) {
    return false;
  }
  const StateInfo* const state = graph.find_state(origin.producer().states()[0]);
  return state != nullptr && state->trainable;
}

bool looks_rows_up(Op op) {
  return &op.def() == &embedding_def() ||
         (&op.def() == &gather_def() &&
          normalize_axis(op.attrs().get<std::int64_t>("axis"), op.input(0).rank(), "axis") == 0);
}

bool is_hoisted(Graph& graph, Op op, const Params& params) {
  if (!looks_rows_up(op)) {
    return false;
  }
  const std::size_t table = params.find(op.input(0)), ids = params.find(op.input(1));
  return table >= params.first_captured && table < params.all.size() && ids >= params.first_x &&
         ids < params.first_captured && is_parameter(graph, op.input(0));
}

}  // namespace

std::optional<ChainParts> with_hoisted_lookups(Graph& graph, const Vars& states,
                                               const ChainParts& chain) {
  const Params params(graph, states, chain);
  const RegionInfo& body = graph.region(chain.body);
  std::vector<Op> ops, lookups;
  for (OpId id : body.ops) {
    ops.push_back(graph.op(id));
    if (ops.back().def().effect != Effect::none || !ops.back().regions().empty()) {
      return std::nullopt;
    }
    if (is_hoisted(graph, ops.back(), params)) {
      lookups.push_back(ops.back());
    }
  }
  if (lookups.empty()) {
    return std::nullopt;
  }
  const Vars results = graph.vars(body.results);
  ChainParts hoisted{.body = {}, .xs = chain.xs, .captures = {}};
  for (Op lookup : lookups) {
    const LocationGuard location(graph, lookup.location(), /*force=*/true);
    const Var table = chain.captures[params.find(lookup.input(0)) - params.first_captured];
    const Var ids = chain.xs[params.find(lookup.input(1)) - params.first_x];
    hoisted.xs.push_back(graph.add(lookup.def(), {table, ids}, lookup.attrs()).output());
  }
  RegionScope scope(graph);
  Cloner cloner(graph, graph);
  cloner.map(params.all[0], scope.step_param());
  for (std::size_t i = 1; i < params.first_captured; ++i) {
    cloner.map(params.all[i], scope.param({params.all[i].dtype(), params.all[i].shape()}));
  }
  for (Op lookup : lookups) {
    const Var rows = lookup.output();
    cloner.map(rows, scope.param({rows.dtype(), rows.shape()}));
  }
  const auto capture = [&](Var value) {  // what is still read; the tables need not be
    const std::size_t number = params.find(value);
    if (number >= params.first_captured && number < params.all.size()) {
      cloner.map(value, graph.capture(chain.captures[number - params.first_captured]));
    }
  };
  for (Op op : ops) {
    if (std::ranges::find(lookups, op) == lookups.end()) {
      std::ranges::for_each(op.inputs(), capture);
      cloner.copy(op);
    }
  }
  std::ranges::for_each(results, capture);
  hoisted.body = scope.finish(cloner(results));
  hoisted.captures = scope.captures();
  return hoisted;
}

}  // namespace antichain
