#include "antichain/ops/update_ops.h"

#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/creation.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/slicing.h"
#include "antichain/ops/state_ops.h"
#include "antichain/ops/update_rules.h"

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

std::vector<VarType> infer_update(InferContext& context, int states, std::size_t numbers) {
  context.require_inputs(3);
  context.require_dtype(0, kFloats);
  context.require_dtype(1, {DType::f64});
  context.require_dtype(2, {DType::boolean});
  context.require_rank(2, 0);
  context.unify(context.shape(1), {static_cast<std::int64_t>(numbers + rules::kGradientNumbers)},
                "shapes of the numbers and of those that the rule takes");
  for (std::size_t i = 0; i < static_cast<std::size_t>(states); ++i) {
    const std::string& state_name = context.attrs().get<std::string>(state_attribute(i));
    const StateInfo* state = context.graph().find_state(state_name);
    require(state != nullptr, "{}: there is no state called '{}'", context.op_name(), state_name);
    const DType expected = i == 0 ? context.dtype(0) : buffer_dtype(context.dtype(0));
    require<TypeError>(state->type.dtype == expected,
                       "{}: state '{}' holds {}, for a gradient of {} it must be {}",
                       context.op_name(), state_name, name(state->type.dtype),
                       name(context.dtype(0)), name(expected));
    context.unify(state->type.shape, context.shape(0), "shapes of state and gradient");
  }
  return {{context.dtype(0), context.shape(0)}};
}

template <class Rule, std::size_t... kState>
void update_elements(KernelContext& context, std::index_sequence<kState...>) {
  StateStore& store = *context.states;
  const std::vector<std::string> names = {context.attr<std::string>(state_attribute(kState))...};
  const std::vector<double> gradient = load<double>(context.in(0));
  std::array<std::vector<double>, sizeof...(kState)> values = {
      load<double>(store.get(names[kState], host_memory()))...};
  const rules::Applied<Rule, double> rule(context.in(1).data<double>());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    rule(gradient[i], values[kState][i]...);
  }
  const auto set = [&](std::size_t state) {
    store.update(names[state],
                 [&](const Tensor&, const Tensor& next) { antichain::store(values[state], next); });
  };
  (set(kState), ...);
}

// Every update starts from the same values: the states are set first.
template <class Rule>
std::vector<Sample> update_samples(const OpDef& def) {
  const auto build = [&def](bool when) {
    return [&def, when](Graph& graph, std::span<const Var> in) {
      const DType dtype = in[0].dtype();
      std::vector<std::string> names;
      for (int i = 0; i < Rule::kStates; ++i) {
        names.push_back("sample" + std::to_string(i));
        const DType type = i == 0 ? dtype : buffer_dtype(dtype);
        const Var start = full(graph, type, in[0].shape(), 0.5 + i);
        graph.add_state({names.back(), {type, in[0].shape()}, start});
        assign(graph, names.back(), start);
      }
      std::vector<Operand> numbers;
      for (std::size_t i = 0; i < rules::kRuleNumbers<Rule>; ++i) {
        numbers.emplace_back(0.875 - 0.0625 * static_cast<double>(i));
      }
      const GradientUse use{scalar(graph, boolean, when ? 1 : 0), scalar(graph, f64, 0.75), 1.25};
      std::vector<Var> results = {update_states(def, names, in[0], use, numbers)};
      for (int i = 1; i < Rule::kStates; ++i) {
        results.push_back(read_state(graph, names[static_cast<std::size_t>(i)]));
      }
      return results;
    };
  };
  const auto sample = [&](const char* label, const Shape& shape, bool when) {
    return Sample{label, {{.shape = shape, .fixed_size = true}}, build(when)};
  };
  return {sample("matrix", {37, 19}, true), sample("scalar", {}, true),
          sample("empty", {0, 3}, true), sample("not now", {5}, false)};
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
          [](InferContext& context) {
            return infer_update(context, Rule::kStates, rules::kRuleNumbers<Rule>);
          },
      .no_gradient = "it changes states, through which no gradient flows",
      .reference =
          [](KernelContext& context) {
            if (context.in(2).item<bool>()) {
              update_elements<Rule>(context, std::make_index_sequence<Rule::kStates>());
            }
            context.out() = context.states->get(context.attr<std::string>("state"), host_memory());
          },
      .samples = [self] { return update_samples<Rule>(self()); },
  };
}

}  // namespace

DType buffer_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

Var update_states(const OpDef& rule, const std::vector<std::string>& states, Var gradient,
                  const GradientUse& use, const std::vector<Operand>& numbers) {
  Graph& graph = gradient.graph();
  std::vector<Var> all = {use.scale, scalar(graph, f64, use.limit)};
  for (const Operand& number : numbers) {
    all.push_back(number.as(graph, f64));
  }
  Attrs attrs;
  for (std::size_t i = 0; i < states.size(); ++i) {
    attrs.set(state_attribute(i), states[i]);
  }
  return graph.add(rule, {gradient, stack(all, 0), use.when}, attrs).output();
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
