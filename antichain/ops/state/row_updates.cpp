#include "antichain/ops/state/row_updates.h"

#include <algorithm>
#include <array>
#include <utility>

#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/state/update_rules.h"

namespace antichain {

namespace {

constexpr int kGradient = 0, kNumbersInput = 1, kWhen = 2, kSelection = 3;  // inputs

const StateInfo& find_row_state(InferContext& context, const std::string& state_name,
                                DType expected) {
  const StateInfo* state = context.graph().find_state(state_name);
  require(state != nullptr, "{}: there is no state called '{}'", context.op_name(), state_name);
  require<TypeError>(state->type.dtype == expected, "{}: state '{}' holds {}, it must be {}",
                     context.op_name(), state_name, name(state->type.dtype), name(expected));
  return *state;
}

// What all ops of the family have in common; returns the type of the state that the gradient
// belongs to.
VarType infer_rows(InferContext& context, const std::string& state_name, DType expected,
                   std::size_t numbers) {
  const bool selects = context.num_inputs() > kSelection;
  context.require_inputs(selects ? kSelection + 1 : kSelection);
  context.require_dtype(kGradient, kFloats);
  context.require_min_rank(kGradient, 1);
  context.require_dtype(kNumbersInput, {DType::f64});
  context.unify(context.shape(kNumbersInput),
                {static_cast<std::int64_t>(numbers + rules::kGradientNumbers)},
                "shapes of the numbers and of those that the rule takes");
  context.require_dtype(kWhen, {DType::boolean});
  context.require_rank(kWhen, 0);
  const VarType& type = find_row_state(context, state_name, expected).type;
  Dims shape = type.shape;
  if (selects) {
    context.require_dtype(kSelection, {DType::i64, DType::boolean});
    context.require_rank(kSelection, 1);
    context.unify(context.shape(kSelection)[0], context.shape(kGradient)[0],
                  "the numbers of selected rows and of those of the gradient");
    if (context.dtype(kSelection) == DType::i64 && !shape.empty()) {
      shape[0] = context.shape(kGradient)[0];
    }
  }
  context.unify(shape, context.shape(kGradient), "shapes of state and gradient");
  return type;
}

std::vector<VarType> infer_row_update(InferContext& context, std::size_t numbers) {
  const std::vector<std::string> states = updated_states(context.attrs())[0];
  const DType dtype = context.dtype(kGradient);
  const VarType type = infer_rows(context, states[0], dtype, numbers);
  for (std::size_t i = 1; i < states.size(); ++i) {
    const StateInfo& buffer = find_row_state(context, states[i], buffer_dtype(dtype));
    context.unify(buffer.type.shape, type.shape, "shapes of state and buffer");
  }
  return {{type.dtype, type.shape}};
}

std::vector<VarType> infer_accumulate_rows(InferContext& context) {
  const std::vector<std::string> states = updated_states(context.attrs())[0];
  const VarType type = infer_rows(context, states[0], context.dtype(kGradient), 1);
  const StateInfo& marks = find_row_state(context, states[1], DType::boolean);
  context.unify(marks.type.shape, {type.shape[0]}, "the numbers of marks and rows");
  return {{type.dtype, type.shape}};
}

// Calls f(row of the state, first element of the gradient) for the rows whose gradient is not zero.
template <class F>
void for_each_used_row(const KernelContext& context, const RowLayout& layout,
                       const std::vector<double>& gradient, F&& f) {
  for (std::int64_t k = 0; k < layout.gradient_rows; ++k) {
    std::int64_t row = k;
    if (context.num_inputs() > kSelection) {
      const Tensor& selection = context.in(kSelection);
      if (selection.dtype() == DType::i64) {
        row = selection.data<std::int64_t>()[k];
      } else if (!selection.data<bool>()[k]) {
        continue;
      }
    }
    const auto first = gradient.begin() + k * layout.width;
    const bool used = std::any_of(first, first + layout.width, [](double g) { return g != 0; });
    if (row >= 0 && row < layout.state_rows && used) {
      f(row, static_cast<std::size_t>(k * layout.width));
    }
  }
}

template <class Rule, std::size_t... kState>
void update_used_rows(KernelContext& context, const std::vector<std::string>& names,
                      std::index_sequence<kState...>) {
  StateStore& store = *context.states;
  const std::vector<double> gradient = load<double>(context.in(kGradient));
  const std::array<Tensor, sizeof...(kState)> states = {store.modify(names[kState])...};
  std::array<std::vector<double>, sizeof...(kState)> values = {load<double>(states[kState])...};
  const rules::Applied<Rule, double> rule(context.in(kNumbersInput).template data<double>());
  const RowLayout layout = row_layout(context, states[0]);
  for_each_used_row(context, layout, gradient, [&](std::int64_t row, std::size_t from) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(layout.width); ++i) {
      const std::size_t at = static_cast<std::size_t>(row * layout.width) + i;
      rule(gradient[from + i], values[kState][at]...);
    }
  });
  (antichain::store(values[kState], states[kState]), ...);
}

template <class Rule>
void row_update_reference(KernelContext& context) {
  const std::vector<std::string> names = updated_states(*context.attrs)[0];
  if (context.in(kWhen).item<bool>()) {
    update_used_rows<Rule>(context, names, std::make_index_sequence<Rule::kStates>());
  }
  context.out() = context.states->get(names[0], host_memory());
}

void accumulate_rows_reference(KernelContext& context) {
  const std::vector<std::string> names = updated_states(*context.attrs)[0];
  StateStore& store = *context.states;
  if (context.in(kWhen).item<bool>()) {
    const Tensor sum = store.modify(names[0]), marked = store.modify(names[1]);
    const RowLayout layout = row_layout(context, sum);
    std::vector<double> total = load<double>(sum);
    bool* const marks = marked.data<bool>();
    const double* const numbers = context.in(kNumbersInput).data<double>();
    if (numbers[rules::kGradientNumbers] == 0) {
      std::fill(total.begin(), total.end(), 0.0);
      std::fill(marks, marks + layout.state_rows, false);
    }
    const std::vector<double> gradient = load<double>(context.in(kGradient));
    const rules::Applied<rules::Accumulate, double> first(
        std::array{numbers[0], numbers[1], 0.0}.data());
    const rules::Applied<rules::Accumulate, double> further(
        std::array{numbers[0], numbers[1], 1.0}.data());
    for_each_used_row(context, layout, gradient, [&](std::int64_t row, std::size_t from) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(layout.width); ++i) {
        const std::size_t at = static_cast<std::size_t>(row * layout.width) + i;
        (marks[row] ? further : first)(gradient[from + i], total[at]);
      }
      marks[row] = true;
    });
    antichain::store(total, sum);
  }
  context.out() = store.get(names[0], host_memory());
}

std::vector<Var> row_inputs(Var gradient, const GradientUse& use,
                            const std::vector<Operand>& numbers, Var selection) {
  Graph& graph = gradient.graph();
  std::vector<Var> all = {use.scale, scalar(graph, f64, use.limit)};
  for (const Operand& number : numbers) {
    all.push_back(number.as(graph, f64));
  }
  std::vector<Var> inputs = {gradient, stack(all, 0), use.when};
  if (selection.valid()) {
    inputs.push_back(selection);
  }
  return inputs;
}

std::string add_row_state(Graph& graph, const std::string& state_name, Var start) {
  graph.add_state({state_name, {start.dtype(), start.shape()}, start});
  assign(graph, state_name, start);
  return state_name;
}

GradientUse sample_use(Graph& graph, bool when) {
  return {scalar(graph, boolean, when ? 1 : 0), scalar(graph, f64, 0.75), 1.25};
}

// A use of an op on a state with so many rows.
struct RowSample {
  const char* label;
  SampleInput gradient;
  std::int64_t rows;
  std::vector<SampleInput> selection = {};
  bool when = true;
};

std::vector<RowSample> row_uses() {
  const auto gradient = [](Shape shape) {
    return SampleInput{.shape = std::move(shape), .fixed_size = true};
  };
  const auto of_ids = [](std::vector<std::int64_t> ids) {
    const auto count = static_cast<std::int64_t>(ids.size());
    SampleInput input = indices_of({count}, std::move(ids));
    input.fixed_size = true;
    return std::vector<SampleInput>{input};
  };
  const SampleInput marks = {
      .shape = {4}, .dtype = DType::boolean, .values = {1, 0, 0, 1}, .fixed_size = true};
  const SampleInput zeros_among = {
      .shape = {4, 3}, .values = {1, -2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, .fixed_size = true};
  return {{"all rows", gradient({37, 19}), 37},
          {"rows of zeros stay", zeros_among, 4},
          {"ids", gradient({5, 19}), 37, of_ids({3, 30, 0, 36, 7})},
          {"ids and none", zeros_among, 7, of_ids({5, 0, 2, -1})},
          {"many rows", gradient({700, 33}), 700},
          {"marks", gradient({4, 3}), 4, {marks}},
          {"three axes", gradient({2, 3, 2}), 5, of_ids({4, 1})},
          {"vector", gradient({3}), 5, of_ids({1, 4, 2})},
          {"no ids", gradient({0, 3}), 4, of_ids({})},
          {"not now", gradient({5, 2}), 5, {}, false}};
}

template <class Build>
std::vector<Sample> row_samples(Build build) {
  std::vector<Sample> samples;
  for (const RowSample& use : row_uses()) {
    std::vector<SampleInput> inputs = {use.gradient};
    inputs.insert(inputs.end(), use.selection.begin(), use.selection.end());
    samples.push_back({use.label, inputs, [use, build](Graph& graph, std::span<const Var> in) {
                         Dims shape = in[0].shape();
                         shape[0] = use.rows;
                         return build(graph, in, shape, use.when);
                       }});
  }
  return samples;
}

template <class Rule>
std::vector<Sample> row_update_samples(const OpDef& def) {
  return row_samples([&def](Graph& graph, std::span<const Var> in, const Dims& shape, bool when) {
    std::vector<std::string> names;
    for (int i = 0; i < Rule::kStates; ++i) {
      const DType dtype = i == 0 ? in[0].dtype() : buffer_dtype(in[0].dtype());
      names.push_back(
          add_row_state(graph, "sample" + std::to_string(i), full(graph, dtype, shape, 0.5 + i)));
    }
    std::vector<Operand> numbers;
    for (std::size_t i = 0; i < rules::kRuleNumbers<Rule>; ++i) {
      numbers.emplace_back(0.875 - 0.0625 * static_cast<double>(i));
    }
    const Var selection = in.size() > 1 ? in[1] : Var();
    std::vector<Var> results =
        graph
            .add(def, row_inputs(in[0], sample_use(graph, when), numbers, selection),
                 update_attributes({names}))
            .outputs();
    for (std::size_t i = 1; i < names.size(); ++i) {
      results.push_back(read_state(graph, names[i]));
    }
    return results;
  });
}

std::vector<Sample> accumulate_rows_samples() {
  const auto with = [](double keep) {
    return [keep](Graph& graph, std::span<const Var> in, const Dims& shape, bool when) {
      const Dim rows = shape[0];
      const Var marks = less(modulo(iota(graph, DType::i64, rows), 3), 2);
      Dims column(shape.size(), 1);
      column[0] = rows;
      const Var start = select(reshape(marks, column), full(graph, in[0].dtype(), shape, 0.5), 0.0);
      const std::string sum = add_row_state(graph, "sum", start);
      const std::string marked = add_row_state(graph, "marks", marks);
      const Var selection = in.size() > 1 ? in[1] : Var();
      const Var result = graph
                             .add(accumulate_rows_update_def(),
                                  row_inputs(in[0], sample_use(graph, when), {keep}, selection),
                                  update_attributes({{sum, marked}}))
                             .output();
      return std::vector<Var>{result, read_state(graph, marked)};
    };
  };
  std::vector<Sample> samples = row_samples(with(1));
  for (Sample& sample : row_samples(with(0))) {
    sample.label += ", a new sum";
    samples.push_back(std::move(sample));
  }
  return samples;
}

template <class Rule>
OpDef row_update_op(const char* op_name, const char* doc, const OpDef& (*whole)(),
                    const OpDef& (*self)()) {
  return {
      .name = op_name,
      .doc = doc,
      .attributes = whole().attributes,
      .effect = Effect::writes_state,
      .forwards = true,
      .infer =
          [](InferContext& context) {
            return infer_row_update(context, rules::kRuleNumbers<Rule>);
          },
      .no_gradient = "it changes states, through which no gradient flows",
      .no_vmap = "it changes states, which all copies share",
      .reference = row_update_reference<Rule>,
      .samples = [self] { return row_update_samples<Rule>(self()); },
  };
}

const OpDef& descent_rows_update_def() {
  static const OpDef def = row_update_op<rules::Descent>(
      "descent_rows_update", "One step of gradient descent on the rows that have a gradient.",
      descent_update_def, descent_rows_update_def);
  return def;
}

const OpDef& momentum_rows_update_def() {
  static const OpDef def = row_update_op<rules::Momentum>(
      "momentum_rows_update",
      "One step of gradient descent with momentum on the rows that have a gradient.",
      momentum_update_def, momentum_rows_update_def);
  return def;
}

const OpDef& adam_rows_update_def() {
  static const OpDef def = row_update_op<rules::Adam>(
      "adam_rows_update", "One step of Adam on the rows that have a gradient.", adam_update_def,
      adam_rows_update_def);
  return def;
}

const OpDef& rmsprop_rows_update_def() {
  static const OpDef def = row_update_op<rules::Rmsprop>(
      "rmsprop_rows_update", "One step of RMSprop on the rows that have a gradient.",
      rmsprop_update_def, rmsprop_rows_update_def);
  return def;
}

const OpDef& rmsprop_momentum_rows_update_def() {
  static const OpDef def = row_update_op<rules::RmspropMomentum>(
      "rmsprop_momentum_rows_update",
      "One step of RMSprop with momentum on the rows that have a gradient.",
      rmsprop_momentum_update_def, rmsprop_momentum_rows_update_def);
  return def;
}

const OpDef& adagrad_rows_update_def() {
  static const OpDef def = row_update_op<rules::Adagrad>(
      "adagrad_rows_update", "One step of Adagrad on the rows that have a gradient.",
      adagrad_update_def, adagrad_rows_update_def);
  return def;
}

}  // namespace

const std::vector<RowRule>& row_rules() {
  static const std::vector<RowRule> rules = {
      {&descent_update_def(), &descent_rows_update_def()},
      {&momentum_update_def(), &momentum_rows_update_def()},
      {&adam_update_def(), &adam_rows_update_def()},
      {&rmsprop_update_def(), &rmsprop_rows_update_def()},
      {&rmsprop_momentum_update_def(), &rmsprop_momentum_rows_update_def()},
      {&adagrad_update_def(), &adagrad_rows_update_def()},
  };
  return rules;
}

Var update_rows(const OpDef& rule, const std::vector<std::string>& states, Var gradient,
                const GradientUse& use, const std::vector<Operand>& numbers, Var selection) {
  const auto found = std::ranges::find(row_rules(), &rule, &RowRule::whole);
  require<NotSupported>(found != row_rules().end(), "{} has no form for some rows", rule.name);
  return gradient.graph()
      .add(*found->rows, row_inputs(gradient, use, numbers, selection), update_attributes({states}))
      .output();
}

Var accumulate_rows(const std::string& sum, const std::string& marks, Var gradient,
                    const GradientUse& use, const Operand& keep) {
  return gradient.graph()
      .add(accumulate_rows_update_def(), row_inputs(gradient, use, {keep}, {}),
           update_attributes({{sum, marks}}))
      .output();
}

const OpDef& accumulate_rows_update_def() {
  static const OpDef def{
      .name = "accumulate_rows_update",
      .doc =
          "Adds the rows of a gradient to a sum of gradients and marks them, or begins a new one.",
      .attributes = {{"state", "the sum"}, {"state_1", "the marks of its rows"}},
      .effect = Effect::writes_state,
      .forwards = true,
      .infer = infer_accumulate_rows,
      .no_gradient = "it changes states, through which no gradient flows",
      .no_vmap = "it changes states, which all copies share",
      .reference = accumulate_rows_reference,
      .samples = accumulate_rows_samples,
  };
  return def;
}

std::vector<const OpDef*> row_update_family() {
  std::vector<const OpDef*> family = {&accumulate_rows_update_def()};
  for (const RowRule& rule : row_rules()) {
    family.push_back(rule.rows);
  }
  return family;
}

bool takes_all_rows(Op op) {
  static const std::vector<const OpDef*> family = row_update_family();
  return op.num_inputs() == kSelection && std::ranges::count(family, &op.def()) > 0;
}

UpdatedMemory modified_memory(StateStore& store, std::span<const std::string> states,
                              const TensorMemory& device) {
  UpdatedMemory memory{};
  for (std::size_t i = 0; i < states.size(); ++i) {
    memory.before[i] = memory.after[i] = store.modify(states[i], device).raw();
  }
  return memory;
}

RowLayout row_layout(const KernelContext& context, const Tensor& state) {
  const std::int64_t rows = state.shape()[0];
  return {.state_rows = rows,
          .gradient_rows = context.in(kGradient).shape()[0],
          .width = rows == 0 ? 0 : state.numel() / rows};
}

}  // namespace antichain
