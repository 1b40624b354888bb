#include "antichain/autodiff/walk.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/ops/elementwise/elementwise.h"

namespace antichain {

namespace {

bool carries_gradient(Var var) { return is_float(var.dtype()); }

// Tells values apart: across regions, a captured parameter is the value that it stands for.
class Identity {
 public:
  Identity(Graph& graph, Reach reach) : graph_(graph), reach_(reach) {}
  Var operator()(Var value) const { return reach_ == Reach::region ? value : graph_.origin(value); }

 private:
  Graph& graph_;
  Reach reach_;
};

// The ops between inputs and outputs, in build order, and the values on the way.
struct Between {
  std::vector<OpId> ops;
  std::unordered_set<VarId> values;  // depend on an input
};

Between find_between(Graph& graph, std::span<const Var> inputs, std::span<const Var> outputs,
                     Reach reach, bool through_inputs) {
  const Identity identity(graph, reach);
  Between result;
  for (Var input : inputs) {
    result.values.insert(identity(input).id());
  }
  const std::unordered_set<VarId> starts = result.values;
  const auto stops_at = [&](Var value) { return !through_inputs && starts.contains(value.id()); };
  for (OpId id : find_ancestors(graph, outputs, reach, stops_at)) {
    const Op op = graph.op(id);
    bool depends = false;
    for (int i = 0; i < op.num_inputs() && !depends; ++i) {
      depends = carries_gradient(op.input(i)) && result.values.contains(identity(op.input(i)).id());
    }
    if (depends && has_derivative(op.def())) {
      result.ops.push_back(id);
      for (Var output : op.outputs()) {
        result.values.insert(output.id());
      }
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
  bool fits = grad.dtype() == input.dtype() && grad.rank() == input.rank();
  for (int axis = 0; fits && axis < input.rank(); ++axis) {
    fits = !never_equal(grad.dim(axis), input.dim(axis));
  }
  if (!fits) {
    fail<InternalError>("the derivative of {} gives {}{} for an input of {}{}", op,
                        name(grad.dtype()), to_string(grad.shape()), name(input.dtype()),
                        to_string(input.shape()));
  }
}

}  // namespace

std::vector<OpId> find_ancestors(Graph& graph, std::span<const Var> values, Reach reach,
                                 const std::function<bool(Var)>& stops_at) {
  const Identity identity(graph, reach);
  std::unordered_set<OpId> seen;
  std::vector<OpId> pending, ancestors;
  const auto visit = [&](Var reached) {
    const Var value = identity(reached);
    if (!(stops_at && stops_at(value)) && !graph.is_region_param(value) &&
        seen.insert(value.producer().id()).second) {
      pending.push_back(value.producer().id());
    }
  };
  for (Var value : values) {
    if (value.valid()) {
      visit(value);
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
  return ancestors;
}

std::vector<Var> walk_back(Graph& graph, std::span<const Var> outputs,
                           std::span<const Var> output_grads, std::span<const Var> inputs,
                           Reach reach) {
  const Identity identity(graph, reach);
  const Between between =
      find_between(graph, inputs, outputs, reach, /*through_inputs=*/reach == Reach::graph);
  const auto reached = [&](Var value) { return between.values.contains(identity(value).id()); };
  std::unordered_map<VarId, std::vector<Var>> grads;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (output_grads[i].valid() && outputs[i].valid() && reached(outputs[i])) {
      grads[identity(outputs[i]).id()].push_back(output_grads[i]);
    }
  }
  const auto take_total = [&](Var value) {
    const auto found = grads.find(identity(value).id());
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
      needed.push_back(carries_gradient(input) && reached(input));
    }
    const std::vector<Var> to_inputs = op_vjp(op, from_outputs, needed);
    for (int i = 0; i < op.num_inputs(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (needed[at] && to_inputs[at].valid()) {
        check_gradient(op, op.input(i), to_inputs[at]);
        grads[identity(op.input(i)).id()].push_back(to_inputs[at]);
      }
    }
  }
  std::vector<Var> result;
  for (Var input : inputs) {
    result.push_back(carries_gradient(input) ? take_total(input) : Var());
  }
  return result;
}

std::vector<Var> walk_forward(Graph& graph, std::span<const Var> inputs,
                              std::span<const Var> tangents, std::span<const Var> outputs,
                              Reach reach) {
  const Identity identity(graph, reach);
  std::unordered_map<VarId, Var> moved;
  std::vector<Var> moving;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (tangents[i].valid() && carries_gradient(inputs[i]) &&
        moved.try_emplace(identity(inputs[i]).id(), tangents[i]).second) {
      moving.push_back(inputs[i]);
    }
  }
  const auto tangent_of = [&](Var value) {
    const auto found = moved.find(identity(value).id());
    return found != moved.end() ? found->second : Var();
  };
  for (OpId id : find_between(graph, moving, outputs, reach, /*through_inputs=*/false).ops) {
    const Op op = graph.op(id);
    std::vector<Var> directions;
    bool any = false;
    for (Var input : op.inputs()) {
      directions.push_back(tangent_of(input));
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
    result.push_back(output.valid() ? tangent_of(output) : Var());
  }
  return result;
}

bool has_derivative(const OpDef& def) { return def.vjp || def.jvp || def.decompose; }

std::string why_no_gradient(Graph& graph, std::span<const Var> outputs, Var input) {
  const Identity identity(graph, Reach::graph);
  std::unordered_set<VarId> reached = {identity(input).id()};
  for (OpId id : find_ancestors(graph, outputs, Reach::graph)) {
    const Op op = graph.op(id);
    const std::vector<Var> inputs = op.inputs();
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](Var var) { return reached.contains(identity(var).id()); })) {
      continue;
    }
    if (!has_derivative(op.def()) && !op.def().no_gradient.empty()) {
      return op.describe() + " carries no gradient: " + op.def().no_gradient;
    }
    for (Var output : op.outputs()) {
      reached.insert(output.id());
    }
  }
  return "it does not depend on it";
}

}  // namespace antichain
