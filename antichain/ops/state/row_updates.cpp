#include "antichain/ops/state/row_updates.h"

#include <algorithm>

#include "antichain/graph/infer_context.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/row_update_reference.h"

namespace antichain {

namespace {

const StateInfo& find_row_state(InferContext& context, const std::string& state_name,
                                DType expected) {
  const StateInfo* state = context.graph().find_state(state_name);
  require(state != nullptr, "{}: there is no state called '{}'", context.op_name(), state_name);
  require<TypeError>(state->type.dtype == expected, "{}: state '{}' holds {}, it must be {}",
                     context.op_name(), state_name, name(state->type.dtype), name(expected));
  return *state;
}

// Checks a gradient that is a product; returns its width.
Dim infer_product(InferContext& context) {
  context.require_dtype(kGradient, {DType::f32, DType::f64});
  context.require_rank(kGradient, 1);
  for (const int input : {static_cast<int>(kSlots), static_cast<int>(kRowStarts)}) {
    context.require_dtype(input, {DType::i64});
    context.require_rank(input, 1);
  }
  context.require_dtype(kSelection, {DType::i64});
  context.require_rank(kSelection, 1);
  context.require_dtype(kDense, {context.dtype(kGradient)});
  context.require_rank(kDense, 2);
  context.unify(context.shape(kSlots)[0], context.shape(kGradient)[0],
                "the numbers of slots and values");
  context.unify(context.shape(kRowStarts)[0], context.shape(kDense)[0] + 1,
                "row_starts and the rows of the dense matrix and one");
  const Dim width = context.shape(kDense)[1];
  if (context.num_inputs() > kProductInputs) {
    context.require_dtype(kAddedRows, {context.dtype(kGradient)});
    context.require_rank(kAddedRows, 2);
    context.require_dtype(kAddedSlots, {DType::i64});
    context.require_rank(kAddedSlots, 1);
    context.unify(context.shape(kAddedRows), {context.shape(kAddedSlots)[0], width},
                  "shapes of added rows and of their slots and the dense matrix");
  }
  return width;
}

// What all ops of the family have in common; returns the type of the state that the gradient
// belongs to.
VarType infer_rows(InferContext& context, const std::string& state_name, DType expected,
                   std::size_t numbers) {
  const bool selects = context.num_inputs() > kSelection,
             product = context.num_inputs() > kSelection + 1;
  const bool adds_rows = context.num_inputs() > kProductInputs;
  context.require_inputs(adds_rows ? kSumInputs
                         : product ? kProductInputs
                         : selects ? kSelection + 1
                                   : kSelection);
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
  if (product) {
    const Dim width = infer_product(context);
    require<ShapeError>(shape.size() == 1 || shape.size() == 2,
                        "{}: a product updates vectors and matrices, the state has {} axes",
                        context.op_name(), shape.size());
    context.unify(shape.size() == 2 ? shape[1] : Dim(1), width, "widths of state and product");
    return type;
  }
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
  DType dtype = context.dtype(kGradient);
  const StateInfo* parameter = context.graph().find_state(states[0]);
  if (parameter != nullptr && is_float(parameter->type.dtype) &&
      context.num_inputs() == kSelection + 1 && context.dtype(kSelection) == DType::boolean &&
      buffer_dtype(parameter->type.dtype) == dtype) {
    dtype = parameter->type.dtype;
  }
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

std::vector<AttrSpec> with_lock_free(std::vector<AttrSpec> attributes) {
  attributes.push_back({kLockFree, "each value of a product changes its row by itself", {false}});
  return attributes;
}

template <class Rule>
OpDef row_update_op(const char* op_name, const char* doc, const OpDef& (*whole)(),
                    const OpDef& (*self)()) {
  return {
      .name = op_name,
      .doc = doc,
      .attributes = with_lock_free(whole().attributes),
      .effect = Effect::writes_state,
      .forwards = true,
      .infer =
          [](InferContext& context) {
            return infer_row_update(context, rules::kRuleNumbers<Rule>);
          },
      .no_gradient = "it changes states, through which no gradient flows",
      .no_vmap = "it changes states, which all copies share",
      .reference = row_update_reference<Rule>,
      .samples =
          [self] { return row_update_samples(self(), Rule::kStates, rules::kRuleNumbers<Rule>); },
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
                const GradientUse& use, const std::vector<Operand>& numbers,
                const RowUpdateOptions& options) {
  const auto found = std::ranges::find(row_rules(), &rule, &RowRule::whole);
  require<NotSupported>(found != row_rules().end(), "{} has no form for some rows", rule.name);
  Attrs attrs = update_attributes({states});
  attrs.set(kLockFree, options.lock_free);
  return gradient.graph()
      .add(*found->rows, row_inputs(gradient, use, numbers, options.selection), attrs)
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

bool could_take_product(Op op) {
  return std::ranges::find(row_rules(), &op.def(), &RowRule::rows) != row_rules().end() &&
         op.num_inputs() == kSelection + 1 && op.input(kSelection).dtype() == DType::i64 &&
         (op.input(kGradient).dtype() == DType::f32 || op.input(kGradient).dtype() == DType::f64);
}

bool takes_product(Op op) {
  return std::ranges::find(row_rules(), &op.def(), &RowRule::rows) != row_rules().end() &&
         op.num_inputs() >= kProductInputs;
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
  return {
      .state_rows = rows,
      .gradient_rows =
          context.in(context.num_inputs() >= kProductInputs ? kSelection : kGradient).shape()[0],
      .width = rows == 0 ? 0 : state.numel() / rows};
}

}  // namespace antichain
