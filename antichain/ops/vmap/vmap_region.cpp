#include "antichain/ops/vmap/vmap_region.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

bool any_is_mapped(std::span<const Mapped> values) {
  return std::ranges::any_of(values, &Mapped::is_mapped);
}

std::vector<Mapped> all_mapped(const Vars& values, bool is_mapped = true) {
  std::vector<Mapped> all;
  for (Var value : values) {
    all.push_back({value, is_mapped});
  }
  return all;
}

Vars same_op_with_regions(Op op, const Vars& inputs) {
  const auto regions = op.regions();
  return op.graph()
      .add(op.def(), inputs, op.attrs(), {regions.begin(), regions.end()}, op.location())
      .outputs();
}

std::vector<Mapped> compute_once(Op op, std::span<const Mapped> inputs) {
  Vars values;
  for (const Mapped& input : inputs) {
    values.push_back(input.value);
  }
  return all_mapped(same_op_with_regions(op, values), false);
}

Var repeat(Var value, const Dims& shape) { return broadcast_to(value, shape); }

std::optional<std::vector<Mapped>> by_rule(Op op, std::span<const Mapped> inputs, Dim copies) {
  if (!op.def().vmap) {
    return std::nullopt;
  }
  VmapContext context(op, inputs, copies, repeat);
  const std::optional<Vars> outputs = op.def().vmap(context);
  ensure(!outputs || std::ssize(*outputs) == op.num_outputs(), "vmap of {} gives {} values for {}",
         op, outputs ? outputs->size() : 0, op.num_outputs());
  return outputs ? std::optional(all_mapped(*outputs)) : std::nullopt;
}

// A rule may leave a value that has the same size everywhere; what is built from parts of an op is
// a region of its own, which is mapped op by op.
std::optional<std::vector<Mapped>> by_decomposition(Op op, std::span<const Mapped> inputs,
                                                    Dim copies) {
  if (!op.def().decompose) {
    return std::nullopt;
  }
  Graph& graph = op.graph();
  RegionScope scope(graph);
  Vars params;
  for (Var input : op.inputs()) {
    params.push_back(scope.param(input.type()));
  }
  const RegionId region =
      scope.finish(op.def().decompose(same_op_with_regions(op, params)[0].producer()));
  if (!why_not_vmap(graph, region).empty()) {
    return std::nullopt;
  }
  std::vector<Mapped> arguments(inputs.begin(), inputs.end());
  for (Var capture : scope.captures()) {
    arguments.push_back({capture, false});
  }
  std::vector<Mapped> outputs = vmap_region(graph, region, arguments, copies);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = {with_mapped_axis(outputs[i], op.output(static_cast<int>(i)).shape(), copies),
                  true};
  }
  return outputs;
}

// Copy by copy: right for every op.
std::vector<Mapped> in_a_chain(Op op, std::span<const Mapped> inputs, Dim copies) {
  Vars xs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_mapped) {
      xs.push_back(with_mapped_axis(inputs[i], op.input(static_cast<int>(i)).shape(), copies));
    }
  }
  const auto body = [&](Var, const Vars&, const Vars& slices) -> StepResult {
    Vars values;
    std::size_t next = 0;
    for (const Mapped& input : inputs) {
      values.push_back(input.is_mapped ? slices[next++] : op.graph().capture(input.value));
    }
    return {{}, same_op_with_regions(op, values)};
  };
  return all_mapped(chain({}, xs, body, {.length = copies}, op.location()).ys);
}

}  // namespace

std::optional<std::vector<Mapped>> vmap_op_by_rule(Op op, std::span<const Mapped> inputs,
                                                   Dim copies) {
  return any_is_mapped(inputs) ? by_rule(op, inputs, copies) : compute_once(op, inputs);
}

std::vector<Mapped> vmap_op(Op op, std::span<const Mapped> inputs, Dim copies) {
  if (auto found = vmap_op_by_rule(op, inputs, copies)) {
    return *found;
  }
  if (auto found = by_decomposition(op, inputs, copies)) {
    return *found;
  }
  require<NotSupported>(op.def().no_vmap.empty(), "vmap: {}: {}", op, op.def().no_vmap);
  ensure(!op.def().vmap_serially.empty(), "{} has neither a rule for vmap nor a reason", op);
  return in_a_chain(op, inputs, copies);
}

Var with_mapped_axis(const Mapped& value, const Dims& shape, Dim copies) {
  Dims whole = {copies};
  whole.insert(whole.end(), shape.begin(), shape.end());
  bool is_whole = value.is_mapped;
  for (std::size_t i = 0; is_whole && i < shape.size(); ++i) {
    is_whole = !(value.value.shape()[i + 1] == Dim(1)) || shape[i] == Dim(1);
  }
  return is_whole ? value.value : broadcast_to(value.value, whole);
}

std::vector<Mapped> vmap_region(Graph& graph, RegionId region, std::span<const Mapped> arguments,
                                Dim copies) {
  const Vars params = graph.vars(graph.region(region).params);
  ensure(params.size() == arguments.size(), "a region with {} parameters gets {} arguments",
         params.size(), arguments.size());
  std::unordered_map<VarId, Mapped> values;
  for (std::size_t i = 0; i < params.size(); ++i) {
    values[params[i].id()] = {graph.capture(arguments[i].value), arguments[i].is_mapped};
  }
  for (Op op : schedule_region(graph, region)) {
    std::vector<Mapped> inputs;
    for (Var input : op.inputs()) {
      inputs.push_back(values.at(input.id()));
    }
    const std::vector<Mapped> outputs = vmap_op(op, inputs, copies);
    for (int i = 0; i < op.num_outputs(); ++i) {
      values[op.output(i).id()] = outputs[static_cast<std::size_t>(i)];
    }
  }
  std::vector<Mapped> results;
  for (Var result : graph.vars(graph.region(region).results)) {
    results.push_back(values.at(result.id()));
  }
  return results;
}

std::vector<bool> mapped_results(Graph& graph, RegionId region, const std::vector<bool>& params) {
  const RegionInfo& info = graph.region(region);
  std::unordered_set<VarId> mapped;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i]) {
      mapped.insert(info.params[i]);
    }
  }
  const auto is_mapped = [&](Var value) { return mapped.contains(value.id()); };
  for (Op op : schedule_region(graph, region)) {
    if (std::ranges::any_of(op.inputs(), is_mapped)) {
      for (Var output : op.outputs()) {
        mapped.insert(output.id());
      }
    }
  }
  std::vector<bool> results;
  for (VarId result : info.results) {
    results.push_back(mapped.contains(result));
  }
  return results;
}

std::string why_not_vmap(Graph& graph, RegionId region) {
  for (Op op : schedule_region(graph, region)) {
    if (op.def().effect != Effect::none || !op.control_edges().empty()) {
      return op.describe() + " has an effect, which must happen step by step";
    }
    if (op.def().shape_from_data || !graph.found_sizes(op).empty()) {
      return op.describe() + " finds out sizes when it runs, which may differ from step to step";
    }
    if (!op.def().no_vmap.empty() && op.num_inputs() > 0) {
      return op.describe() + " is not mapped: " + op.def().no_vmap;
    }
  }
  return {};
}

}  // namespace antichain
