#include "antichain/engines/multigrid/body_on_grid.h"

#include <algorithm>
#include <span>

#include "antichain/graph/clone.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/grid_step.h"

namespace antichain::multigrid {

namespace {

bool contains(Graph& graph, RegionId body, const OpDef& def) {
  std::vector<RegionId> pending = {body};
  while (!pending.empty()) {
    const RegionId region = pending.back();
    pending.pop_back();
    for (const OpId id : graph.region(region).ops) {
      const Op op = graph.op(id);
      if (&op.def() == &def) {
        return true;
      }
      pending.insert(pending.end(), op.regions().begin(), op.regions().end());
    }
  }
  return false;
}

}  // namespace

Vars inline_body(Graph& graph, RegionId body, std::span<const Var> arguments,
                 const GridOfBody& grid) {
  if (!says_coarse_step(graph, body)) {
    return inline_region(graph, body, arguments);
  }
  Cloner cloner(graph, graph, [&grid](Op copy) -> Vars {
    if (&copy.def() == &grid_stride_def() && !grid.keeps_stride) {
      return {scalar(copy.graph(), copy.output().dtype(), grid.stride, copy.location())};
    }
    if (&copy.def() == &on_coarse_grids_def()) {
      return {copy.input(grid.is_coarse ? 1 : 0)};
    }
    return copy.outputs();
  });
  const Vars params = graph.vars(graph.region(body).params);
  for (std::size_t i = 0; i < params.size(); ++i) {
    cloner.map(params[i], graph.capture(arguments[i]));
  }
  for (Op op : schedule_region(graph, body)) {
    cloner.copy(op);
  }
  return cloner(graph.vars(graph.region(body).results));
}

bool says_coarse_step(Graph& graph, RegionId body) {
  return contains(graph, body, grid_stride_def()) || has_own_coarse_step(graph, body);
}

bool has_own_coarse_step(Graph& graph, RegionId body) {
  return contains(graph, body, on_coarse_grids_def());
}

}  // namespace antichain::multigrid
