#include "antichain/ops/state/state_ops.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

const StateInfo& state_of(InferContext& context) {
  const std::string& name = context.attrs().get<std::string>("state");
  const StateInfo* state = context.graph().find_state(name);
  require(state != nullptr, "{}: there is no state called '{}'", context.op_name(), name);
  return *state;
}

std::vector<VarType> infer_write(InferContext& context) {
  context.require_inputs(1);
  const StateInfo& state = state_of(context);
  require<TypeError>(context.dtype(0) == state.type.dtype,
                     "{}: state '{}' holds {}, the value is {}", context.op_name(), state.name,
                     name(state.type.dtype), name(context.dtype(0)));
  context.unify(state.type.shape, context.shape(0), "shapes of state and value");
  return {{state.type.dtype, state.type.shape}};
}

void add_update_reference(KernelContext& context) {
  const auto add = [&context](const Tensor& old, const Tensor& next) {
    visit_compute(next.dtype(), [&](auto zero) {
      using C = decltype(zero);
      std::vector<C> values = load<C>(old);
      const std::vector<C> delta = load<C>(context.in(0));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] += delta[i];
      }
      store(values, next);
    });
  };
  context.out() = context.states->update(context.attr<std::string>("state"), add);
}

void assign_reference(KernelContext& context) {
  const auto copy = [&context](const Tensor&, const Tensor& next) {
    context.device->copy(next, context.in(0));
  };
  context.out() = context.states->update(context.attr<std::string>("state"), copy, *context.device);
}

// Writes after another write, so that every run starts from the same value.
std::vector<Sample> write_samples(Var (*write)(Graph&, std::string_view, const Operand&)) {
  return {{"after another", {{{2, 3}}}, [write](Graph& graph, std::span<const Var> in) {
             const Var start = ones(graph, in[0].dtype(), {2, 3});
             graph.add_state({"sample", {in[0].dtype(), {2, 3}}, start});
             assign(graph, "sample", start);
             return std::vector<Var>{write(graph, "sample", in[0])};
           }}};
}

Var declare(std::string_view name, const Operand& initial, bool trainable) {
  const Var value = initial.var();
  Graph& graph = value.graph();
  const RegionSwitch at_root(graph);
  require(graph.region_of(value) == kRootRegion,
          "state '{}' starts from a value of a chain, loop or cond; start it from one outside",
          name);
  const std::string full = graph.qualify(name);
  require(graph.find_state(full) == nullptr, "there is already a state called '{}'", full);
  graph.add_state({full, {value.dtype(), value.shape()}, value, trainable});
  const Var read = read_state(graph, full, initial.location());
  graph.set_name(read, full);
  return read;
}

}  // namespace

const OpDef& state_read_def() {
  static const OpDef def{
      .name = "state_read",
      .doc = "The value of a state.",
      .attributes = {{"state", "its name"}},
      .dtypes = kAnyDType,
      .effect = Effect::reads_state,
      .forwards = true,
      .on_any_device = true,
      .infer =
          [](InferContext& context) {
            const StateInfo& state = state_of(context);
            return std::vector<VarType>{{state.type.dtype, state.type.shape}};
          },
      .no_gradient = "it has no inputs",
      .no_vmap = kSameInAllCopies,
      .reference =
          [](KernelContext& context) {
            context.out() =
                context.states->get(context.attr<std::string>("state"), *context.device);
          },
      .samples =
          [] {
            return std::vector<Sample>{
                {"initial", {}, [](Graph& graph, std::span<const Var>) {
                   return std::vector<Var>{buffer("sample", ones(graph, f32, {2, 3}))};
                 }}};
          },
  };
  return def;
}

const OpDef& assign_def() {
  static const OpDef def{
      .name = "assign",
      .doc = "Replaces a state; returns the new value.",
      .attributes = {{"state", "its name"}},
      .dtypes = kAnyDType,
      .effect = Effect::writes_state,
      .forwards = true,
      .on_any_device = true,
      .infer = infer_write,
      .vjp = [](VjpContext& context) { return std::vector<Var>{context.grad()}; },
      .no_vmap = "it changes a state, which all copies share",
      .reference = assign_reference,
      .samples = [] { return write_samples(assign); },
  };
  return def;
}

const OpDef& add_update_def() {
  static const OpDef def{
      .name = "add_update",
      .doc = "Adds to a state; returns the new value.",
      .attributes = {{"state", "its name"}},
      .dtypes = kNumbers,
      .effect = Effect::writes_state,
      .forwards = true,
      .infer = infer_write,
      .vjp = [](VjpContext& context) { return std::vector<Var>{context.grad()}; },
      .no_vmap = "it changes a state, which all copies share",
      .reference = add_update_reference,
      .samples = [] { return write_samples(add_update); },
  };
  return def;
}

Var parameter(std::string_view name, const Operand& initial) {
  return declare(name, initial, true);
}
Var buffer(std::string_view name, const Operand& initial) { return declare(name, initial, false); }

Var read_state(Graph& graph, std::string_view name, Place place) {
  const RegionSwitch at_root(graph);
  if (const Var known = graph.current_read(name); known.valid()) {
    return known;
  }
  return graph.add(state_read_def(), {}, {{"state", std::string(name)}}, {}, place).output();
}

const std::string& state_name(Var value) {
  require(!value.graph().is_region_param(value) && &value.producer().def() == &state_read_def(),
          "{} is not a parameter or buffer", value);
  return value.producer().attrs().get<std::string>("state");
}

std::vector<Var> parameters(Graph& graph) {
  std::vector<Var> result;
  for (const StateInfo& state : graph.states()) {
    if (state.trainable) {
      result.push_back(read_state(graph, state.name));
    }
  }
  return result;
}

Var assign(Graph& graph, std::string_view name, const Operand& value) {
  return graph
      .add(assign_def(), {value.var()}, {{"state", std::string(name)}}, {}, value.location())
      .output();
}

Var add_update(Graph& graph, std::string_view name, const Operand& delta) {
  return graph
      .add(add_update_def(), {delta.var()}, {{"state", std::string(name)}}, {}, delta.location())
      .output();
}

Var after_writes(Var value, const std::vector<Var>& writes) {
  Graph& graph = value.graph();
  const Op same = graph.add(reshape_def(), {value}, {{"shape", value.shape()}}, {},
                            Place::current(), Sharing::none);
  for (Var write : writes) {
    graph.add_control_edge(write.producer(), same);
  }
  return same.output();
}

std::vector<const OpDef*> state_family() {
  return {&state_read_def(), &assign_def(), &add_update_def()};
}

}  // namespace antichain
