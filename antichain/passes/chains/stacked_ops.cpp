#include "antichain/passes/chains/stacked_ops.h"

#include <algorithm>
#include <optional>

#include "antichain/graph/traversal.h"
#include "antichain/ops/catalogue.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/normalization_gradients.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"

namespace antichain {

namespace {

// An op that is to be computed for all runs, at least one of whose inputs differs between them.
struct Use {
  Op op;
  std::span<const Stacked> inputs;
  Dim length;

  Graph& graph() const { return op.graph(); }
  bool stacked(std::size_t input) const { return inputs[input].stacked; }
  Vars values() const {
    Vars all;
    for (const Stacked& input : inputs) {
      all.push_back(input.value);
    }
    return all;
  }
  Var with_all_runs(std::size_t input) const {
    return all_runs(inputs[input], op.input(static_cast<int>(input)).shape(), length);
  }
  Vars all_stacked() const {
    Vars all;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      all.push_back(with_all_runs(i));
    }
    return all;
  }
  Dims with_length(const Dims& shape) const {
    Dims result = {length};
    result.insert(result.end(), shape.begin(), shape.end());
    return result;
  }
  // The value of an input with axes of size 1 behind the runs, so that it has `rank` others.
  Var aligned(std::size_t input, int rank) const {
    const Var value = inputs[input].value;
    const int missing = rank - (value.rank() - (stacked(input) ? 1 : 0));
    if (!stacked(input) || missing <= 0) {
      return value;
    }
    Dims shape(static_cast<std::size_t>(missing), Dim(1));
    shape.insert(shape.end(), value.shape().begin() + 1, value.shape().end());
    return reshape(value, with_length(shape));
  }
  Vars add(const Vars& values, const Attrs& attrs) const {
    return graph().add(op.def(), values, attrs, {}, op.location()).outputs();
  }
};

// Whether a stacked value has size 1 where it has another size inside.
bool is_thin(const Stacked& value, const Dims& shape) {
  if (!value.stacked) {
    return false;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (value.value.shape()[i + 1] == Dim(1) && !(shape[i] == Dim(1))) {
      return true;
    }
  }
  return false;
}

// Whether the rule of an op takes such a value as it is: where it broadcasts, and cuts along other
// axes.
bool takes_thin(Op op, std::size_t input, Var value) {
  const auto has_axis = [&](int axis) { return !(value.dim(axis) == Dim(1)); };
  if (&op.def() == &split_def()) {
    return has_axis(normalize_axis(op.attrs().get<std::int64_t>("axis"), op.input(0).rank()) + 1);
  }
  if (&op.def() == &matmul_def()) {
    const bool rows_apart = input == 0 && !op.attrs().get<bool>("transpose_a");
    return has_axis(-1) && (rows_apart || has_axis(-2));
  }
  return is_elementwise(op.def());
}

// Returns nothing where the rule does not apply to this use.
using Rule = std::function<std::optional<Vars>(const Use&)>;

Ints moved_up(Ints axes, int rank) {
  for (std::int64_t& axis : axes) {
    axis += axis < 0 ? rank + 1 : 1;
  }
  return axes;
}

std::optional<Vars> elementwise_rule(const Use& use) {
  Vars values;
  for (std::size_t i = 0; i < use.inputs.size(); ++i) {
    values.push_back(use.aligned(i, use.op.output().rank()));
  }
  return use.add(values, use.op.attrs());
}

std::optional<Vars> matmul_rule(const Use& use) { return elementwise_rule(use); }

// Ops whose attributes say nothing about axes counted from the front; `shared` inputs must be the
// same in all runs.
Rule unchanged(const std::vector<std::size_t>& shared = {}) {
  return [shared](const Use& use) -> std::optional<Vars> {
    if (std::ranges::any_of(shared, [&](std::size_t i) { return use.stacked(i); })) {
      return std::nullopt;
    }
    Vars values = use.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::ranges::count(shared, i) == 0) {
        values[i] = use.with_all_runs(i);
      }
    }
    return use.add(values, use.op.attrs());
  };
}

std::optional<Vars> reduce_rule(const Use& use) {
  const int rank = use.op.input(0).rank();
  Attrs attrs = use.op.attrs();
  Ints axes = moved_up(attrs.get<Ints>("axes"), rank);
  for (int axis = 0; attrs.get<Ints>("axes").empty() && axis < rank; ++axis) {
    axes.push_back(axis + 1);
  }
  Var value = use.inputs[0].value;
  if (rank == 0) {  // no axes would mean all, and so that of the runs
    value = reshape(value, {use.length, 1});
    axes = {1};
    attrs.set("keep_dims", false);
  }
  attrs.set("axes", axes);
  return use.add({value}, attrs);
}

// Ops with an attribute "axis", counted in their only input or in their output.
Rule along_axis(bool of_output = false) {
  return [of_output](const Use& use) -> std::optional<Vars> {
    const int rank = of_output ? use.op.output().rank() : use.op.input(0).rank();
    Attrs attrs = use.op.attrs();
    attrs.set("axis", moved_up({attrs.get<std::int64_t>("axis")}, rank)[0]);
    return use.add(of_output ? use.all_stacked() : use.values(), attrs);
  };
}

std::optional<Vars> flip_rule(const Use& use) {
  Attrs attrs = use.op.attrs();
  attrs.set("axes", moved_up(attrs.get<Ints>("axes"), use.op.input(0).rank()));
  return use.add(use.values(), attrs);
}

std::optional<Vars> reshape_rule(const Use& use) {
  return Vars{reshape(use.inputs[0].value, use.with_length(use.op.output().shape()))};
}

std::optional<Vars> transpose_rule(const Use& use) {
  Ints permutation = moved_up(use.op.attrs().get<Ints>("permutation"), use.op.input(0).rank());
  permutation.insert(permutation.begin(), 0);
  return Vars{transpose(use.inputs[0].value, permutation)};
}

std::optional<Vars> broadcast_rule(const Use& use) {
  const Dims& shape = use.op.output().shape();
  return Vars{broadcast_to(use.aligned(0, static_cast<int>(shape.size())), use.with_length(shape))};
}

// The axes that sum_to adds up; none where that depends on sizes.
std::optional<Ints> summed_axes(Op op) {
  const Dims &from = op.input(0).shape(), &to = op.output().shape();
  const std::size_t added = from.size() - to.size();
  Ints axes;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < added || !(from[i] == to[i - added])) {
      if (i >= added && !(to[i - added] == Dim(1))) {
        return std::nullopt;
      }
      axes.push_back(static_cast<std::int64_t>(i + 1));
    }
  }
  return axes;
}

std::optional<Vars> sum_to_rule(const Use& use) {
  const std::optional<Ints> axes = summed_axes(use.op);
  if (!axes) {
    return std::nullopt;
  }
  const Var x = use.inputs[0].value;
  return axes->empty() ? Vars{x}
                       : Vars{reshape(sum(x, *axes), use.with_length(use.op.output().shape()))};
}

std::optional<Vars> slice_rule(const Use& use) {
  const auto with = [](Dim first, Dims rest) {
    rest.insert(rest.begin(), first);
    return rest;
  };
  Attrs attrs = use.op.attrs();
  attrs.set("starts", with(Dim(0), attrs.get<Dims>("starts")));
  attrs.set("stops", with(use.length, attrs.get<Dims>("stops")));
  Ints steps = attrs.get<Ints>("steps");
  steps.insert(steps.begin(), 1);
  attrs.set("steps", steps);
  return use.add(use.all_stacked(), attrs);
}

std::optional<Vars> pad_rule(const Use& use) {
  Attrs attrs = use.op.attrs();
  for (const char* side : {"before", "after"}) {
    Dims sizes = attrs.get<Dims>(side);
    sizes.insert(sizes.begin(), Dim(0));
    attrs.set(side, sizes);
  }
  return use.add(use.values(), attrs);
}

// Rows of one table for the indices of all runs.
std::optional<Vars> lookup_rule(const Use& use) {
  const AttrValue* axis = use.op.attrs().find("axis");
  if (use.stacked(0) || (axis && std::get<std::int64_t>(*axis) != 0)) {
    return std::nullopt;
  }
  return use.add(use.values(), use.op.attrs());
}

const Rule* rule_of(const OpDef& def) {
  static const std::unordered_map<const OpDef*, Rule> rules = [] {
    std::unordered_map<const OpDef*, Rule> all = {
        {&matmul_def(), matmul_rule},           {&reshape_def(), reshape_rule},
        {&transpose_def(), transpose_rule},     {&broadcast_to_def(), broadcast_rule},
        {&sum_to_def(), sum_to_rule},           {&slice_def(), slice_rule},
        {&set_slice_def(), slice_rule},         {&pad_def(), pad_rule},
        {&concat_def(), along_axis(true)},      {&stack_def(), along_axis(true)},
        {&split_def(), along_axis()},           {&flip_def(), flip_rule},
        {&gather_def(), lookup_rule},           {&embedding_def(), lookup_rule},
        {&one_hot_def(), unchanged()},          {&stop_gradient_def(), unchanged()},
        {&softmax_gradient_def(), unchanged()},
    };
    for (const OpDef* reduction : {&sum_def(), &prod_def(), &mean_def(), &reduce_min_def(),
                                   &reduce_max_def(), &logsumexp_def(), &variance_def()}) {
      all.emplace(reduction, reduce_rule);
    }
    for (const char* name : {"softmax", "log_softmax", "argmin", "argmax", "cumsum"}) {
      all.emplace(&find_op(name), along_axis());
    }
    all.emplace(&find_op("layer_norm"), unchanged({1, 2}));
    return all;
  }();
  static const Rule elementwise = elementwise_rule;
  const auto found = rules.find(&def);
  return found != rules.end() ? &found->second : (is_elementwise(def) ? &elementwise : nullptr);
}

// Run by run: right for every op.
Vars in_a_chain(const Use& use) {
  Vars xs;
  for (const Stacked& input : use.inputs) {
    if (input.stacked) {
      xs.push_back(input.value);
    }
  }
  const auto body = [&](Var, const Vars&, const Vars& slices) -> StepResult {
    Vars values;
    std::size_t next = 0;
    for (const Stacked& input : use.inputs) {
      values.push_back(input.stacked ? slices[next++] : use.graph().capture(input.value));
    }
    const auto regions = use.op.regions();
    return {{},
            use.graph()
                .add(use.op.def(), values, use.op.attrs(), {regions.begin(), regions.end()},
                     use.op.location())
                .outputs()};
  };
  return chain({}, xs, body, {.length = use.length}, use.op.location()).ys;
}

}  // namespace

bool has_stacking_rule(Op op) {
  return rule_of(op.def()) != nullptr && (&op.def() != &sum_to_def() || summed_axes(op));
}

std::vector<Stacked> compute_stacked(Op op, std::span<const Stacked> inputs, Dim length) {
  std::vector<Stacked> taken(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const Dims& shape = op.input(static_cast<int>(i)).shape();
    if (is_thin(taken[i], shape) && !takes_thin(op, i, taken[i].value)) {
      taken[i].value = all_runs(taken[i], shape, length);
    }
  }
  const Use use{op, taken, length};
  const bool differs =
      std::ranges::any_of(inputs, [](const Stacked& input) { return input.stacked; });
  Vars outputs;
  if (!differs) {
    const auto regions = op.regions();
    outputs = op.graph()
                  .add(op.def(), use.values(), op.attrs(), {regions.begin(), regions.end()},
                       op.location())
                  .outputs();
  } else {
    const Rule* rule = rule_of(op.def());
    const std::optional<Vars> found = rule ? (*rule)(use) : std::nullopt;
    outputs = found ? *found : in_a_chain(use);
  }
  std::vector<Stacked> result;
  for (Var output : outputs) {
    result.push_back({output, differs});
  }
  return result;
}

Var all_runs(const Stacked& value, const Dims& shape, Dim length) {
  if (value.stacked && !is_thin(value, shape)) {
    return value.value;
  }
  Dims whole = shape;
  whole.insert(whole.begin(), length);
  return broadcast_to(value.value, whole);
}

std::vector<Stacked> stack_region(Graph& graph, RegionId region, std::span<const Stacked> arguments,
                                  Dim length) {
  const Vars params = graph.vars(graph.region(region).params);
  ensure(params.size() == arguments.size(), "a region with {} parameters gets {} arguments",
         params.size(), arguments.size());
  std::unordered_map<VarId, Stacked> values;
  for (std::size_t i = 0; i < params.size(); ++i) {
    values[params[i].id()] = {graph.capture(arguments[i].value), arguments[i].stacked};
  }
  for (Op op : schedule_region(graph, region)) {
    std::vector<Stacked> inputs;
    for (Var input : op.inputs()) {
      inputs.push_back(values.at(input.id()));
    }
    const std::vector<Stacked> outputs = compute_stacked(op, inputs, length);
    for (int i = 0; i < op.num_outputs(); ++i) {
      values[op.output(i).id()] = outputs[static_cast<std::size_t>(i)];
    }
  }
  std::vector<Stacked> results;
  for (Var result : graph.vars(graph.region(region).results)) {
    results.push_back(values.at(result.id()));
  }
  return results;
}

std::string why_not_stackable(Graph& graph, RegionId region) {
  for (Op op : schedule_region(graph, region)) {
    if (op.def().effect != Effect::none || !op.control_edges().empty()) {
      return op.describe() + " has an effect, which must happen step by step";
    }
    if (op.def().shape_from_data || !graph.found_sizes(op).empty()) {
      return op.describe() + " finds out sizes when it runs, which may differ from step to step";
    }
  }
  return {};
}

}  // namespace antichain
