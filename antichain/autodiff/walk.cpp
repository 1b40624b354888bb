#include "antichain/autodiff/walk.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/ops/elementwise.h"

namespace antichain {

namespace {

bool has_rule(Op op) { return op.def().vjp || op.def().jvp || op.def().decompose; }

bool carries_gradient(Var var) { return is_float(var.dtype()); }

// The ops between inputs and outputs, in build order, and the values on the way.
struct Between {
  std::vector<OpId> ops;
  std::unordered_set<VarId> values;  // depend on an input
};

Between find_between(Graph& graph, std::span<const Var> inputs, std::span<const Var> outputs,
                     AtInputs at_inputs) {
  std::unordered_set<VarId> starts;
  for (Var input : inputs) {
    starts.insert(input.id());
  }
  std::unordered_set<OpId> seen;
  std::vector<OpId> pending, ancestors;
  const auto visit = [&](Var value) {
    const bool at_start = at_inputs == AtInputs::stop && starts.contains(value.id());
    if (!at_start && !graph.is_region_param(value) && seen.insert(value.producer().id()).second) {
      pending.push_back(value.producer().id());
    }
  };
  for (Var output : outputs) {
    if (output.valid()) {
      visit(output);
    }
  }
  while (!pending.empty()) {
    const Op op = graph.op(pending.back());
    pending.pop_back();
    ancestors.push_back(op.id());
    for (int i = 0; i < op.num_inputs(); ++i) {
      visit(op.input(i));
    }
  }
  std::sort(ancestors.begin(), ancestors.end());
  Between result;
  result.values = starts;
  for (OpId id : ancestors) {
    const Op op = graph.op(id);
    bool depends = false;
    for (int i = 0; i < op.num_inputs() && !depends; ++i) {
      depends = carries_gradient(op.input(i)) && result.values.contains(op.input(i).id());
    }
    if (depends && has_rule(op)) {
      result.ops.push_back(id);
      for (Var output : op.outputs()) {
        result.values.insert(output.id());
      }
    }
  }
  return result;
}

// Values as seen from the region that is walked: an outer value stands there as a captured
// parameter.
std::vector<Var> as_seen_from(Graph& graph, std::span<const Var> inputs,
                              std::span<const Var> outputs) {
  std::vector<Var> result(inputs.begin(), inputs.end());
  for (Var& input : result) {
    const auto output =
        std::find_if(outputs.begin(), outputs.end(), [](Var var) { return var.valid(); });
    if (output != outputs.end() && graph.region_of(*output) == graph.current_region()) {
      input = graph.capture(input);
    }
  }
  return result;
}

Var total(const std::vector<Var>& parts) {
  Var sum;
  for (Var part : parts) {
    sum = sum.valid() ? sum + part : part;
  }
  return sum;
}

void check_gradient(Op op, Var input, Var grad) {
  ensure(grad.dtype() == input.dtype() && grad.rank() == input.rank(),
         "the derivative of {} gives {}{} for an input of {}{}", op.describe(), name(grad.dtype()),
         to_string(grad.shape()), name(input.dtype()), to_string(input.shape()));
  for (int axis = 0; axis < input.rank(); ++axis) {
    ensure(!never_equal(grad.dim(axis), input.dim(axis)),
           "the derivative of {} gives shape {} for an input of {}", op.describe(),
           to_string(grad.shape()), to_string(input.shape()));
  }
}

}  // namespace

std::vector<Var> walk_back(Graph& graph, std::span<const Var> outputs,
                           std::span<const Var> output_grads, std::span<const Var> inputs,
                           AtInputs at_inputs) {
  const std::vector<Var> starts = as_seen_from(graph, inputs, outputs);
  const Between between = find_between(graph, starts, outputs, at_inputs);
  std::unordered_map<VarId, std::vector<Var>> grads;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (output_grads[i].valid() && outputs[i].valid() && between.values.contains(outputs[i].id())) {
      grads[outputs[i].id()].push_back(output_grads[i]);
    }
  }
  const auto take_total = [&](Var value) {
    const auto found = grads.find(value.id());
    if (found == grads.end()) {
      return Var();
    }
    found->second = {total(found->second)};
    return found->second[0];
  };
  for (auto id = between.ops.rbegin(); id != between.ops.rend(); ++id) {
    const Op op = graph.op(*id);
    std::vector<Var> from_outputs;
    bool any = false;
    for (Var output : op.outputs()) {
      from_outputs.push_back(carries_gradient(output) ? take_total(output) : Var());
      any = any || from_outputs.back().valid();
    }
    if (!any) {
      continue;
    }
    std::vector<bool> needed;
    for (Var input : op.inputs()) {
      needed.push_back(carries_gradient(input) && between.values.contains(input.id()));
    }
    const std::vector<Var> to_inputs = op_vjp(op, from_outputs, needed);
    for (int i = 0; i < op.num_inputs(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (needed[at] && to_inputs[at].valid()) {
        check_gradient(op, op.input(i), to_inputs[at]);
        grads[op.input(i).id()].push_back(to_inputs[at]);
      }
    }
  }
  std::vector<Var> result;
  for (Var start : starts) {
    result.push_back(carries_gradient(start) ? take_total(start) : Var());
  }
  return result;
}

std::vector<Var> walk_forward(Graph& graph, std::span<const Var> inputs,
                              std::span<const Var> tangents, std::span<const Var> outputs) {
  const std::vector<Var> starts = as_seen_from(graph, inputs, outputs);
  std::unordered_map<VarId, Var> moved;
  std::vector<Var> moving;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (tangents[i].valid() && carries_gradient(starts[i])) {
      const auto [known, is_new] = moved.try_emplace(starts[i].id(), tangents[i]);
      if (is_new) {
        moving.push_back(starts[i]);
      }
    }
  }
  const Between between = find_between(graph, moving, outputs, AtInputs::stop);
  for (OpId id : between.ops) {
    const Op op = graph.op(id);
    std::vector<Var> directions;
    bool any = false;
    for (Var input : op.inputs()) {
      const auto found = moved.find(input.id());
      directions.push_back(found != moved.end() ? found->second : Var());
      any = any || directions.back().valid();
    }
    if (!any) {
      continue;
    }
    const std::vector<Var> results = op_jvp(op, directions);
    for (int i = 0; i < op.num_outputs(); ++i) {
      if (results[static_cast<std::size_t>(i)].valid()) {
        moved.try_emplace(op.output(i).id(), results[static_cast<std::size_t>(i)]);
      }
    }
  }
  std::vector<Var> result;
  for (Var output : outputs) {
    const auto found = output.valid() ? moved.find(output.id()) : moved.end();
    result.push_back(found != moved.end() ? found->second : Var());
  }
  return result;
}

std::string why_no_gradient(Graph& graph, std::span<const Var> outputs, Var input) {
  const Var start = as_seen_from(graph, std::span(&input, 1), outputs)[0];
  std::unordered_set<VarId> reached = {start.id()};
  for (OpId id : graph.region(graph.region_of(start)).ops) {
    const Op op = graph.op(id);
    const std::vector<Var> inputs = op.inputs();
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](Var var) { return reached.contains(var.id()); })) {
      continue;
    }
    if (!has_rule(op) && !op.def().no_gradient.empty()) {
      return op.describe() + " carries no gradient: " + op.def().no_gradient;
    }
    for (Var output : op.outputs()) {
      reached.insert(output.id());
    }
  }
  return "it does not depend on it";
}

}  // namespace antichain
