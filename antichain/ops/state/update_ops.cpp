#include "antichain/ops/state/update_ops.h"

#include <algorithm>
#include <unordered_set>

#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/graph/state_names.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/state/update_rules.h"

namespace antichain {

namespace {

std::string state_attribute(std::size_t index) {
  return index == 0 ? "state" : "state_" + std::to_string(index);
}

std::vector<AttrSpec> state_attributes(int states) {
  std::vector<AttrSpec> specs = {{"state", "what the gradient belongs to"}};
  for (std::size_t i = 1; i < static_cast<std::size_t>(states); ++i) {
    specs.push_back({state_attribute(i), "the name of a buffer"});
  }
  return specs;
}

void check_state(InferContext& context, const std::string& state_name, int gradient,
                 DType expected) {
  const StateInfo* state = context.graph().find_state(state_name);
  require(state != nullptr, "{}: there is no state called '{}'", context.op_name(), state_name);
  require<TypeError>(state->type.dtype == expected,
                     "{}: state '{}' holds {}, for a gradient of {} it must be {}",
                     context.op_name(), state_name, name(state->type.dtype),
                     name(context.dtype(gradient)), name(expected));
  context.unify(state->type.shape, context.shape(gradient), "shapes of state and gradient");
}

std::vector<VarType> infer_update(InferContext& context, std::size_t numbers) {
  const std::vector<std::vector<std::string>> states = updated_states(context.attrs());
  const auto count = static_cast<int>(states.size());
  for (const std::vector<std::string>& own : states) {
    require(own.size() == context.attrs().entries().size(),
            "{}: its attributes name different numbers of states", context.op_name());
  }
  context.require_inputs(count + 2);
  context.require_dtype(count, {DType::f64});
  context.require_dtype(count + 1, {DType::boolean});
  context.require_rank(count + 1, 0);
  context.unify(context.shape(count),
                {static_cast<std::int64_t>(numbers + rules::kGradientNumbers)},
                "shapes of the numbers and of those that the rule takes");
  std::vector<VarType> types;
  std::unordered_set<std::string> seen;
  for (int i = 0; i < count; ++i) {
    context.require_dtype(i, kFloats);
    require<TypeError>(context.dtype(i) == context.dtype(0),
                       "{}: gradients of {} and {} are not updated together", context.op_name(),
                       name(context.dtype(0)), name(context.dtype(i)));
    for (const std::string& state : states[static_cast<std::size_t>(i)]) {
      require(seen.insert(state).second, "{}: state '{}' is there twice", context.op_name(), state);
      const bool is_first = &state == &states[static_cast<std::size_t>(i)].front();
      check_state(context, state, i, is_first ? context.dtype(i) : buffer_dtype(context.dtype(i)));
    }
    types.push_back({context.dtype(i), context.shape(i)});
  }
  return types;
}

template <class Rule, std::size_t... kState>
void update_elements(KernelContext& context, int parameter, const std::vector<std::string>& names,
                     std::index_sequence<kState...>) {
  StateStore& store = *context.states;
  const std::vector<double> gradient = load<double>(context.in(parameter));
  std::array<std::vector<double>, sizeof...(kState)> values = {
      load<double>(store.get(names[kState], host_memory()))...};
  const rules::Applied<Rule, double> rule(
      context.in(context.num_inputs() - 2).template data<double>());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    rule(gradient[i], values[kState][i]...);
  }
  const auto set = [&](std::size_t state) {
    store.update(names[state],
                 [&](const Tensor&, const Tensor& next) { antichain::store(values[state], next); });
  };
  (set(kState), ...);
}

template <class Rule>
void update_reference(KernelContext& context) {
  const std::vector<std::vector<std::string>> states = updated_states(*context.attrs);
  const bool now = context.in(context.num_inputs() - 1).item<bool>();
  for (int i = 0; i < context.num_outputs(); ++i) {
    const std::vector<std::string>& own = states[static_cast<std::size_t>(i)];
    if (now) {
      update_elements<Rule>(context, i, own, std::make_index_sequence<Rule::kStates>());
    }
    context.out(i) = context.states->get(own[0], host_memory());
  }
}

std::vector<Var> update_all(const OpDef& rule, const std::vector<std::vector<std::string>>& states,
                            std::vector<Var> inputs, const GradientUse& use,
                            const std::vector<Operand>& numbers) {
  Graph& graph = inputs[0].graph();
  std::vector<Var> all = {use.scale, scalar(graph, f64, use.limit)};
  for (const Operand& number : numbers) {
    all.push_back(number.as(graph, f64));
  }
  inputs.insert(inputs.end(), {stack(all, 0), use.when});
  return graph.add(rule, inputs, update_attributes(states)).outputs();
}

// A parameter of the same shape as a gradient, and its buffers.
template <class Rule>
std::vector<std::string> add_sample_states(Graph& graph, Var gradient, const std::string& prefix) {
  std::vector<std::string> names;
  for (int i = 0; i < Rule::kStates; ++i) {
    names.push_back(prefix + std::to_string(i));
    const DType type = i == 0 ? gradient.dtype() : buffer_dtype(gradient.dtype());
    const Var start = full(graph, type, gradient.shape(), 0.5 + i);
    graph.add_state({names.back(), {type, gradient.shape()}, start});
    assign(graph, names.back(), start);
  }
  return names;
}

// Every update starts from the same values: the states are set first.
template <class Rule>
std::vector<Sample> update_samples(const OpDef& def) {
  const auto build = [&def](bool when) {
    return [&def, when](Graph& graph, std::span<const Var> in) {
      std::vector<std::vector<std::string>> states;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::string prefix = i == 0 ? "sample" : "other" + std::to_string(i) + "_";
        states.push_back(add_sample_states<Rule>(graph, in[i], prefix));
      }
      std::vector<Operand> numbers;
      for (std::size_t i = 0; i < rules::kRuleNumbers<Rule>; ++i) {
        numbers.emplace_back(0.875 - 0.0625 * static_cast<double>(i));
      }
      const GradientUse use{scalar(graph, boolean, when ? 1 : 0), scalar(graph, f64, 0.75), 1.25};
      std::vector<Var> results = update_all(def, states, {in.begin(), in.end()}, use, numbers);
      for (const std::vector<std::string>& own : states) {
        for (std::size_t i = 1; i < own.size(); ++i) {
          results.push_back(read_state(graph, own[i]));
        }
      }
      return results;
    };
  };
  const auto sample = [&](const char* label, const std::vector<Shape>& shapes, bool when) {
    std::vector<SampleInput> inputs;
    for (const Shape& shape : shapes) {
      inputs.push_back({.shape = shape, .fixed_size = true});
    }
    return Sample{label, inputs, build(when)};
  };
  return {sample("matrix", {{37, 19}}, true),
          sample("scalar", {Shape()}, true),
          sample("empty", {{0, 3}}, true),
          sample("not now", {{5}}, false),
          sample("several", {{37, 19}, {0}, Shape(), {3000}, {2, 5}}, true),
          sample("several, not now", {{4}, {3, 2}}, false)};
}

template <class Rule>
OpDef update_op(const char* op_name, const char* doc, const OpDef& (*self)()) {
  static_assert(Rule::kStates <= UpdatedMemory::kMaxStates);
  return {
      .name = op_name,
      .doc = doc,
      .attributes = state_attributes(Rule::kStates),
      .effect = Effect::writes_state,
      .forwards = true,
      .infer =
          [](InferContext& context) { return infer_update(context, rules::kRuleNumbers<Rule>); },
      .no_gradient = "it changes states, through which no gradient flows",
      .no_vmap = "it changes states, which all copies share",
      .reference = update_reference<Rule>,
      .samples = [self] { return update_samples<Rule>(self()); },
  };
}

}  // namespace

DType buffer_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

std::vector<std::vector<std::string>> updated_states(const Attrs& attrs) {
  std::vector<std::vector<std::string>> states;
  for (const auto& [attribute, value] : attrs.entries()) {
    if (!attribute.starts_with("state")) {
      continue;
    }
    const std::vector<std::string> names = split_state_names(std::get<std::string>(value));
    states.resize(std::max(states.size(), names.size()));
    for (std::size_t i = 0; i < names.size(); ++i) {
      states[i].push_back(names[i]);
    }
  }
  return states;
}

Attrs update_attributes(const std::vector<std::vector<std::string>>& states) {
  Attrs attrs;
  for (std::size_t i = 0; i < states[0].size(); ++i) {
    std::vector<std::string> names;
    for (const std::vector<std::string>& own : states) {
      names.push_back(own[i]);
    }
    attrs.set(state_attribute(i), join_state_names(names));
  }
  return attrs;
}

Var update_states(const OpDef& rule, const std::vector<std::string>& states, Var gradient,
                  const GradientUse& use, const std::vector<Operand>& numbers) {
  return update_all(rule, {states}, {gradient}, use, numbers)[0];
}

const OpDef& accumulate_update_def() {
  static const OpDef def = update_op<rules::Accumulate>(
      "accumulate_update", "Adds a gradient to a sum of gradients, or begins a new one.",
      accumulate_update_def);
  return def;
}

const OpDef& descent_update_def() {
  static const OpDef def = update_op<rules::Descent>(
      "descent_update", "One step of gradient descent on a state.", descent_update_def);
  return def;
}

const OpDef& momentum_update_def() {
  static const OpDef def = update_op<rules::Momentum>(
      "momentum_update", "One step of gradient descent with momentum on a state.",
      momentum_update_def);
  return def;
}

const OpDef& moments_update_def() {
  static const OpDef def = update_op<rules::Moments>(
      "moments_update", "Moves the running mean and mean square of a gradient.",
      moments_update_def);
  return def;
}

const OpDef& adam_update_def() {
  static const OpDef def =
      update_op<rules::Adam>("adam_update", "One step of Adam on a state.", adam_update_def);
  return def;
}

const OpDef& rmsprop_update_def() {
  static const OpDef def = update_op<rules::Rmsprop>(
      "rmsprop_update", "One step of RMSprop on a state.", rmsprop_update_def);
  return def;
}

const OpDef& rmsprop_momentum_update_def() {
  static const OpDef def = update_op<rules::RmspropMomentum>(
      "rmsprop_momentum_update", "One step of RMSprop with momentum on a state.",
      rmsprop_momentum_update_def);
  return def;
}

const OpDef& adagrad_update_def() {
  static const OpDef def = update_op<rules::Adagrad>(
      "adagrad_update", "One step of Adagrad on a state.", adagrad_update_def);
  return def;
}

std::vector<const OpDef*> update_family() {
  return {&accumulate_update_def(),       &descent_update_def(), &momentum_update_def(),
          &moments_update_def(),          &adam_update_def(),    &rmsprop_update_def(),
          &rmsprop_momentum_update_def(), &adagrad_update_def()};
}

}  // namespace antichain
