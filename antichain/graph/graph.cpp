#include "antichain/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/graph/evaluator.h"
#include "antichain/graph/state_names.h"
#include "antichain/graph/structural_ops.h"

namespace antichain {

namespace {

std::string place_of(const Place& location, const std::string& scope) {
  std::string_view file = location.file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  return scope.empty() ? fmt::format("{}:{}", file, location.line())
                       : fmt::format("{}:{}, in '{}'", file, location.line(), scope);
}

// Runs inference; a user's mistake is reported with the place in the user's code.
std::vector<VarType> infer_at(InferContext& context, const OpDef& def, const Place& place,
                              const std::string& scope) {
  const auto with_place = [&](const Error& error) {
    return fmt::format("{} (at {})", error.what(), place_of(place, scope));
  };
  try {
    return def.infer(context);
  } catch (const ShapeError& error) {
    throw ShapeError(with_place(error), error.where());
  } catch (const TypeError& error) {
    throw TypeError(with_place(error), error.where());
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(with_place(error), error.where());
  }
}

// Returns the element of a set that is equal to `value`, which is added where there is none.
template <class T>
const T* interned(std::unordered_set<T>& set, T value) {
  const auto known = set.find(value);
  return known != set.end() ? &*known : &*set.insert(std::move(value)).first;
}

// Attributes are those of the graph, where equal ones are one. The region counts, too: every body
// of a fused op may have the same constant.
std::size_t hash_application(RegionId region, const OpDef& def, std::span<const VarId> inputs,
                             const Attrs& attrs) {
  std::size_t seed = std::hash<const void*>()(&def) ^ (std::hash<const void*>()(&attrs) * 31) ^
                     (region.value * 0x9e3779b97f4a7c15U);
  for (VarId input : inputs) {
    seed = seed * 1000003 + input.value;
  }
  return seed;
}

}  // namespace

Dim DimSpec::resolve(DimPool& pool) const {
  if (const auto* name = std::get_if<std::string>(&spec_)) {
    require<ShapeError>(!name->empty(), "a dim must have a name");
    return pool.symbol(*name);
  }
  return std::get<Dim>(spec_);
}

Graph::Graph() : Graph(std::make_shared<DimPool>(), nullptr) {}
Graph::Graph(std::shared_ptr<const EngineSet> engines)
    : Graph(std::make_shared<DimPool>(), std::move(engines)) {}
Graph::Graph(std::shared_ptr<DimPool> dims, std::shared_ptr<const EngineSet> engines)
    : dims_(std::move(dims)),
      engines_(std::move(engines)),
      op_regions_(kNone + 1),
      names_(kNone + 1),
      scopes_{""},
      control_(kNone + 1) {
  regions_.push_back({});
  open_regions_.push_back(kRootRegion);
}

Var Graph::input(std::string_view name, DType dtype, const std::vector<DimSpec>& shape,
                 Location location) {
  require(!name.empty(), "an input must have a name");
  for (const Op& known : inputs_) {
    require(known.attrs().get<std::string>("name") != name, "there is already an input called '{}'",
            name);
  }
  Dims dims;
  for (const DimSpec& spec : shape) {
    dims.push_back(spec.resolve(*dims_));
  }
  const RegionSwitch at_root(*this);
  const Op op = add(input_def(), {},
                    {{"name", std::string(name)}, {"dtype", dtype}, {"shape", dims}}, {}, location);
  set_name(op.output(), name);
  return op.output();
}

Op Graph::add(const OpDef& def, std::vector<Var> inputs, Attrs attrs, std::vector<RegionId> regions,
              Location location, Sharing sharing) {
  std::vector<VarId> input_ids;
  input_ids.reserve(inputs.size());
  for (Var& input : inputs) {
    require(input.valid(), "{}: input {} is not a value", def.name, input_ids.size());
    require(&input.graph() == this, "{}: input {} belongs to another graph", def.name,
            input_ids.size());
    input = capture(input);
    input_ids.push_back(input.id());
  }
  attrs = attrs.checked(def.attributes, def.name);
  const Attrs& own_attrs = *interned(attrs_, std::move(attrs));
  const bool touches_state =
      def.effect == Effect::reads_state || def.effect == Effect::writes_state;
  require(!touches_state || current_region() == kRootRegion,
          "{}: state is read and written outside of chains, loops and conds; pass it in or out as "
          "a value",
          def.name);
  const bool shared =
      sharing == Sharing::of_equal_ops && def.effect == Effect::none && regions.empty();
  const std::size_t hash =
      shared ? hash_application(current_region(), def, input_ids, own_attrs) : 0;
  if (shared) {
    if (const OpId known = find_equal(hash, def, input_ids, own_attrs); known.valid()) {
      return evaluated(op(known));
    }
  }

  const Location& place = location_override_ ? *location_override_ : location;
  InferContext context(*this, def, inputs, own_attrs, regions);
  std::vector<VarType> types = infer_at(context, def, place, scopes_[current_scope_]);

  const OpId id{static_cast<std::uint32_t>(ops_.size())};
  ensure(id.value != OpId::kNone, "the graph is full");
  const VarId first_output{static_cast<std::uint32_t>(vars_.size())};
  ops_.push_back({.def = &def,
                  .attrs = &own_attrs,
                  .location = place,
                  .first_input = static_cast<std::uint32_t>(op_inputs_.size()),
                  .num_inputs = static_cast<std::uint32_t>(input_ids.size()),
                  .first_output = first_output,
                  .num_outputs = static_cast<std::uint32_t>(types.size()),
                  .region = current_region(),
                  .scope = current_scope_});
  op_inputs_.insert(op_inputs_.end(), input_ids.begin(), input_ids.end());
  if (!regions.empty()) {
    ops_.back().regions = static_cast<std::uint32_t>(op_regions_.size());
    op_regions_.push_back(std::move(regions));
  }
  for (std::uint32_t i = 0; i < types.size(); ++i) {
    add_var(std::move(types[i]), id, i);
  }
  regions_[current_region().value].info.ops.push_back(id);
  if (shared) {
    cons_.insert(hash, id);
  }
  if (!context.constraints().empty()) {
    constraints_.emplace(id, context.constraints());
  }
  if (def.effect != Effect::none) {
    order_effects(op(id));
  }
  if (def.shape_from_data) {
    note_found_sizes(op(id));
  }
  if (&def == &input_def()) {
    inputs_.push_back(op(id));
  }
  return evaluated(op(id));
}

Op Graph::evaluated(Op op) {
  if (evaluator_ && current_region() == kRootRegion) {
    evaluator_->evaluate(op);
  }
  return op;
}

OpId Graph::find_equal(std::size_t hash, const OpDef& def, std::span<const VarId> inputs,
                       const Attrs& attrs) const {
  return cons_.find(hash, [&](OpId id) {
    const OpNode& node = ops_[id.value];
    return node.def == &def && node.region == current_region() && node.attrs == &attrs &&
           std::ranges::equal(inputs_of(node), inputs);
  });
}

std::vector<ControlEdge>& Graph::control_edges_of(OpId op) {
  std::uint32_t& control = ops_[op.value].control;
  if (control == kNone) {
    control = static_cast<std::uint32_t>(control_.size());
    control_.emplace_back();
  }
  return control_[control];
}

void Graph::order_effects(Op op) {
  const Effect effect = op.def().effect;
  if (effect == Effect::external) {
    // Order only: printing the second value does not ask for the first.
    OpId& last = regions_[current_region().value].last_external;
    if (last.valid()) {
      control_edges_of(op.id()).push_back({last, false});
    }
    last = op.id();
    return;
  }
  for (const std::string& name : op.states()) {
    Effects& state = effects_[name];
    if (state.last_write.valid()) {
      control_edges_of(op.id()).push_back({state.last_write, true});
    }
    if (effect == Effect::reads_state) {
      state.reads.push_back(op.id());
      continue;
    }
    for (OpId read : state.reads) {
      control_edges_of(op.id()).push_back({read, false});
    }
    state.last_write = op.id();
    state.reads.clear();
  }
}

Var Graph::current_read(std::string_view state) const {
  const auto found = effects_.find(std::string(state));
  if (found == effects_.end() || found->second.reads.empty()) {
    return {};
  }
  return Op(const_cast<Graph*>(this), found->second.reads.back()).output();
}

Var Graph::add_var(VarType type, OpId producer, std::uint32_t index) {
  const VarId id{static_cast<std::uint32_t>(vars_.size())};
  vars_.push_back({.type = interned(types_, std::move(type)),
                   .producer = producer,
                   .index = index,
                   .region = current_region()});
  return var(id);
}

void Graph::refine_shape(Var var, Dims shape) {
  VarType type = var.type();
  type.shape = std::move(shape);
  vars_[var.id().value].type = interned(types_, std::move(type));
}

Var Graph::capture(Var var) {
  const RegionId home = region_of(var);
  if (home == current_region()) {
    return var;
  }
  const auto level = std::find(open_regions_.begin(), open_regions_.end(), home);
  require(
      level != open_regions_.end(),
      "value {} belongs to a region that is finished; return it from the region to use it outside",
      var);
  for (auto inner = level + 1; inner != open_regions_.end(); ++inner) {
    RegionNode& region = regions_[inner->value];
    const auto [entry, is_new] = region.captured.try_emplace(var.id());
    if (is_new) {
      const VarId id{static_cast<std::uint32_t>(vars_.size())};
      const VarNode& outer = vars_[var.id().value];
      vars_.push_back({.type = outer.type,
                       .index = static_cast<std::uint32_t>(region.info.params.size()),
                       .region = *inner,
                       .outer = var.id(),
                       .name = outer.name});
      region.info.params.push_back(id);
      region.capture_order.push_back(var.id());
      entry->second = id;
    }
    var = this->var(entry->second);
  }
  return var;
}

Var Graph::origin(Var var) {
  while (vars_[var.id().value].outer.valid()) {
    var = this->var(vars_[var.id().value].outer);
  }
  return var;
}

std::vector<Var> Graph::open_steps() {
  std::vector<Var> steps;
  for (RegionId region : open_regions_) {
    if (const VarId step = regions_[region.value].step; step.valid()) {
      steps.push_back(var(step));
    }
  }
  return steps;
}

const StateInfo& Graph::add_state(StateInfo state) {
  if (const StateInfo* known = find_state(state.name)) {
    require(known->type.dtype == state.type.dtype && known->type.shape == state.type.shape,
            "state '{}' is declared as {}{} and again as {}{}", state.name,
            antichain::name(known->type.dtype), to_string(known->type.shape),
            antichain::name(state.type.dtype), to_string(state.type.shape));
    return *known;
  }
  require(!state.name.empty(), "a state must have a name");
  require(state.name.find(kStateSeparator) == std::string::npos,
          "the name of a state must not contain '{}', got '{}'", kStateSeparator, state.name);
  for (Dim dim : state.type.shape) {
    require<ShapeError>(dim.is_constant(), "state '{}' must have a known shape, got {}", state.name,
                        to_string(state.type.shape));
  }
  states_.push_back(std::move(state));
  states_by_name_.emplace(states_.back().name, &states_.back());
  return states_.back();
}

const StateInfo* Graph::find_state(std::string_view name) const {
  const auto found = states_by_name_.find(name);
  return found == states_by_name_.end() ? nullptr : found->second;
}

void Graph::add_control_edge(Op before, Op after) {
  require(ops_[before.id().value].region == ops_[after.id().value].region,
          "a control edge must stay within a region: {} and {}", before, after);
  require(!(before == after), "a cycle: {} cannot run before itself", before);
  control_edges_of(after.id()).push_back({before.id(), true});
}

void Graph::set_name(Var var, std::string_view name) {
  vars_[var.id().value].name = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
}

std::vector<Var> Graph::vars(std::span<const VarId> ids) {
  std::vector<Var> result;
  result.reserve(ids.size());
  for (VarId id : ids) {
    result.push_back(var(id));
  }
  return result;
}

const std::vector<DimConstraint>& Graph::constraints(Op op) const {
  static const std::vector<DimConstraint> kNone;
  const auto found = constraints_.find(op.id());
  return found == constraints_.end() ? kNone : found->second;
}

}  // namespace antichain
