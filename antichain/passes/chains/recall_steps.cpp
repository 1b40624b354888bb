#include "antichain/passes/chains/recall_steps.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain {

namespace {

// What chains have returned, by the value of the graph that computes the same for all steps.
using Recalled = std::unordered_map<VarId, Var>;

// The ops of a body that values of it are computed by, in an order in which they can run.
std::vector<Op> ops_behind(Graph& graph, RegionId region, std::span<const Var> values) {
  std::unordered_set<VarId> needed;
  for (Var value : values) {
    needed.insert(value.id());
  }
  std::vector<Op> ops = schedule_region(graph, region), found;
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    if (std::ranges::any_of(op->outputs(), [&](Var out) { return needed.contains(out.id()); })) {
      found.push_back(*op);
      for (Var input : op->inputs()) {
        needed.insert(input.id());
      }
    }
  }
  std::ranges::reverse(found);
  return found;
}

// Builds what the chain returns for all steps at once. Equal ops are one, so whoever has built that
// before, or does so later, gets the same values; if nobody does, the next copy leaves it behind.
void add_results(Op chain, Recalled& recalled) {
  const ChainLayout layout(chain);
  if (layout.ys == 0 || chain.attrs().get<std::int64_t>("slots") > 0) {
    return;
  }
  Graph& graph = chain.graph();
  const RegionInfo& body = graph.region(chain.regions()[0]);
  const Vars params = graph.vars(body.params), results = graph.vars(body.results);
  const auto ys = std::span(results).subspan(static_cast<std::size_t>(layout.states));
  std::unordered_map<VarId, Mapped> known;  // by value of the body; the step's number is not there
  for (int i = 0; i < chain.num_inputs(); ++i) {
    const bool is_state = i < layout.states;
    known[params[static_cast<std::size_t>(1 + i)].id()] = {
        is_state ? chain.output(layout.first_before() + i) : chain.input(i),
        i < layout.first_captured()};
  }
  const Dim length = chain.attrs().get<Dim>("length");
  for (Op op : ops_behind(graph, chain.regions()[0], ys)) {
    std::vector<Mapped> inputs;
    for (Var input : op.inputs()) {
      if (const auto found = known.find(input.id()); found != known.end()) {
        inputs.push_back(found->second);
      }
    }
    // Others draw numbers for each step, have effects or bodies.
    const bool is_plain = &op.def() == &constant_def() || (op.def().vmap && op.regions().empty());
    if (!is_plain || !op.control_edges().empty() || std::ssize(inputs) < op.num_inputs()) {
      continue;
    }
    const std::optional<std::vector<Mapped>> outputs = vmap_op_by_rule(op, inputs, length);
    for (int i = 0; outputs && i < op.num_outputs(); ++i) {
      Mapped value = (*outputs)[static_cast<std::size_t>(i)];
      const auto number = static_cast<int>(std::ranges::find(ys, op.output(i)) - ys.begin());
      const Var y = number < layout.ys ? chain.output(layout.first_y() + number) : Var();
      if (y.valid() && value.value.shape() == y.shape()) {
        recalled.emplace(value.value.id(), y);
        value = {y, true};  // which is what is read by then
      }
      known[op.output(i).id()] = value;
    }
  }
}

void copy_recalling(Cloner& cloner, std::span<const Op> ops, std::span<const Var>) {
  Recalled recalled;
  for (Op op : ops) {
    const Vars twins = cloner.copy(op);
    for (std::size_t i = 0; i < twins.size() && op.control_edges().empty(); ++i) {
      if (const auto found = recalled.find(twins[i].id()); found != recalled.end()) {
        cloner.map(op.output(static_cast<int>(i)), found->second);
      }
    }
    if (&op.def() == &chain_def()) {
      const LocationGuard location(cloner.target(), op.location(), /*force=*/true);
      add_results(twins[0].producer(), recalled);
    }
  }
}

}  // namespace

GraphCopy recall_steps(const GraphCopy& source) {
  return copy_graph(source, {.copy_ops = copy_recalling});
}

}  // namespace antichain
