// loop: a body repeated while a condition holds. Its reverse derivative is a chain over the steps
// that ran.
#include "antichain/graph/clone.h"
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/control_flow/chain_reverse.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/rows/reduce.h"

namespace antichain {

namespace {

int num_states(Op op) { return static_cast<int>(op.attrs().get<std::int64_t>("states")); }
int num_condition_inputs(Op op) {
  return static_cast<int>(op.attrs().get<std::int64_t>("condition_inputs"));
}

std::vector<VarType> infer_loop(InferContext& context) {
  Graph& graph = context.graph();
  const auto states = static_cast<std::size_t>(context.attrs().get<std::int64_t>("states"));
  const Vars condition = graph.vars(graph.region(context.regions()[0]).results);
  require<TypeError>(
      condition.size() == 1 && condition[0].dtype() == DType::boolean && condition[0].rank() == 0,
      "loop: the condition must return one bool scalar");
  const RegionInfo& body = graph.region(context.regions()[1]);
  const Vars params = graph.vars(body.params), results = graph.vars(body.results);
  require(results.size() == states, "loop: the body returns {} values for {} states",
          results.size(), states);
  const Dim steps = context.fresh_dim("steps", {0, context.attrs().get<std::int64_t>("max_steps")});
  std::vector<VarType> types;
  for (std::size_t i = 0; i < states; ++i) {
    const VarType &before = params[1 + i].type(), &after = results[i].type();
    require<TypeError>(before.dtype == after.dtype, "loop: state {} starts as {} and becomes {}", i,
                       name(before.dtype), name(after.dtype));
    context.unify(before.shape, after.shape, "shapes of a state before and after a step");
    types.push_back({before.dtype, before.shape});
  }
  for (std::size_t i = 0; i < states; ++i) {
    Dims shape = {steps};
    shape.insert(shape.end(), types[i].shape.begin(), types[i].shape.end());
    types.push_back({types[i].dtype, shape});
  }
  types.push_back({DType::i64, {}, Dims{steps}});
  return types;
}

// What a loop works with. States go back and forth between two pieces of memory, unless
// they are stacked: then every step has its own.
struct LoopMemory {
  Tensor step, go_on;
  std::vector<Tensor> now, next;
  std::vector<const Tensor*> arguments;
  std::vector<Tensor*> results;
};

void loop_reference(KernelContext& context) {
  const auto count = static_cast<std::size_t>(context.attr<std::int64_t>("states"));
  const auto split =
      count + static_cast<std::size_t>(context.attr<std::int64_t>("condition_inputs"));
  const std::int64_t max_steps = context.attr<std::int64_t>("max_steps");
  LoopMemory memory;
  std::int64_t step = 0;
  const TensorMemory& device = *context.device;
  memory.go_on = device.allocate(boolean, {});
  memory.next.assign(count, Tensor());
  std::vector<std::vector<Tensor>> history(count);
  for (std::size_t i = 0; i < count; ++i) {
    memory.now.push_back(context.in(static_cast<int>(i)));
  }
  const auto call = [&](int region, std::size_t first, std::size_t last) {
    memory.step = device.to_device(Tensor::scalar(step));
    memory.arguments.assign(1, &memory.step);
    for (const Tensor& state : memory.now) {
      memory.arguments.push_back(&state);
    }
    memory.arguments.insert(memory.arguments.end(),
                            context.inputs.begin() + static_cast<long>(first),
                            context.inputs.begin() + static_cast<long>(last));
    context.run_region(region, memory.arguments, memory.results);
  };
  const auto goes_on = [&] {
    memory.results.assign(1, &memory.go_on);
    call(0, count, split);
    return device.to_host(memory.go_on).item<bool>();
  };
  for (; goes_on(); ++step) {
    require<DataError>(step < max_steps, "{}: the condition still holds after {} steps",
                       context.where, max_steps);
    memory.results.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (context.wanted[count + i]) {
        history[i].push_back(memory.now[i]);
      }
      // The first step must not write into the op's input.
      if (context.wanted[count + i] || step < 2) {
        memory.next[i] = device.allocate(memory.now[i].dtype(), memory.now[i].shape());
      }
      memory.results.push_back(&memory.next[i]);
    }
    call(1, split, context.inputs.size());
    std::swap(memory.now, memory.next);
  }
  for (std::size_t i = 0; i < count; ++i) {
    // With no step the state is the op's input.
    context.out(static_cast<int>(i)) = step == 0 ? device.clone(memory.now[i]) : memory.now[i];
    if (context.wanted[count + i]) {
      Shape shape = memory.now[i].shape();
      shape.insert(shape.begin(), step);
      Tensor& stacked = context.out(static_cast<int>(count + i)) =
          device.allocate(memory.now[i].dtype(), shape);
      for (std::int64_t n = 0; n < step; ++n) {
        device.copy(stacked.select(0, n), history[i][static_cast<std::size_t>(n)]);
      }
    }
  }
  context.out(static_cast<int>(2 * count)) = Tensor::scalar<std::int64_t>(step);
}

Vars loop_vjp(VjpContext& context) {
  const Op op = context.op();
  const int states = num_states(op), first_body_input = states + num_condition_inputs(op);
  StepsToReverse steps{.region = op.regions()[1],
                       .states = states,
                       .length = (*op.output(2 * states).type().value)[0]};
  for (int i = 0; i < states; ++i) {
    steps.before.push_back(op.output(states + i));
    steps.last_grads.push_back(context.grads()[static_cast<std::size_t>(i)]);
    steps.before_grads.push_back(context.grads()[static_cast<std::size_t>(states + i)]);
  }
  for (int i = first_body_input; i < op.num_inputs(); ++i) {
    steps.captured.push_back(op.input(i));
    steps.captured_needed.push_back(context.needs(i));
  }
  Vars grads = reverse_steps(context, steps);
  grads.insert(grads.begin() + states, static_cast<std::size_t>(num_condition_inputs(op)), Var());
  return grads;
}

// A loop that carries the tangents beside the states; the condition looks at the states alone.
Vars loop_jvp(JvpContext& context) {
  const Op op = context.op();
  const int states = num_states(op), first_body_input = states + num_condition_inputs(op);
  Vars start;
  for (int i = 0; i < states; ++i) {
    start.push_back(op.input(i));
  }
  std::vector<int> moving;
  for (int i = 0; i < states; ++i) {
    if (is_float(op.input(i).dtype())) {
      moving.push_back(i);
      start.push_back(context.tangent(i));
    }
  }
  const auto primal = [&](const Vars& s, int first, int last) {
    Vars arguments = {op.graph().open_steps().back()};
    arguments.insert(arguments.end(), s.begin(), s.begin() + states);
    for (int i = first; i < last; ++i) {
      arguments.push_back(op.input(i));
    }
    return arguments;
  };
  const auto condition = [&](const Vars& s) {
    return inline_region(op.graph(), op.regions()[0], primal(s, states, first_body_input))[0];
  };
  const auto body = [&](const Vars& s) {
    const Vars outputs =
        inline_region(op.graph(), op.regions()[1], primal(s, first_body_input, op.num_inputs()));
    Vars inputs, tangents;
    for (std::size_t i = 0; i < moving.size(); ++i) {
      inputs.push_back(s[static_cast<std::size_t>(moving[i])]);
      tangents.push_back(s[static_cast<std::size_t>(states) + i]);
    }
    for (int i = first_body_input; i < op.num_inputs(); ++i) {
      if (context.has_tangent(i)) {
        inputs.push_back(op.graph().capture(op.input(i)));
        tangents.push_back(context.tangent(i));
      }
    }
    const Vars moved = context.walk_forward(inputs, tangents, outputs);
    Vars result = outputs;
    for (int i : moving) {
      const Var tangent = moved[static_cast<std::size_t>(i)];
      result.push_back(tangent.valid() ? tangent
                                       : context.zeros_like(outputs[static_cast<std::size_t>(i)]));
    }
    return result;
  };
  const LoopResult found =
      loop(start, condition, body, {.max_steps = op.attrs().get<std::int64_t>("max_steps")},
           op.location());
  Vars tangents(static_cast<std::size_t>(op.num_outputs()));
  for (std::size_t i = 0; i < moving.size(); ++i) {
    tangents[static_cast<std::size_t>(moving[i])] =
        found.last[static_cast<std::size_t>(states) + i];
    // The stacked tangents have their own symbol for the number of steps, which is the same number.
    tangents[static_cast<std::size_t>(states + moving[i])] =
        found.before[static_cast<std::size_t>(states) + i];
  }
  return tangents;
}

std::vector<Sample> loop_samples() {
  const auto build = [](Graph&, std::span<const Var> in) {
    const LoopResult result = loop(
        {in[0], in[1]}, [](const Vars& s) { return less(sum(square(s[0])), 40); },
        [&](const Vars& s) {
          return Vars{s[0] * 1.5 + sin(s[1]) * in[2], s[1] * 0.9};
        });
    return Vars{result.last[0], result.last[1], result.steps};
  };
  return {{"grows", {{{3}, 0.5, 1}, {{3}}, {{}}}, build},
          {"never runs", {{{3}, 9, 10}, {{3}}, {{}}}, build}};
}

}  // namespace

const OpDef& loop_def() {
  static const OpDef def{
      .name = "loop",
      .doc = "Applies a body while a condition holds, carrying states.",
      .attributes = {{"states", "how many inputs are carried states"},
                     {"condition_inputs", "how many captured values belong to the condition"},
                     {"max_steps", "the run fails after that many", {std::int64_t{1'000'000}}},
                     {"engine", "who differentiates the region", {std::string()}}},
      .shape_from_data = true,
      .on_any_device = true,
      .reads_values = true,
      .infer = infer_loop,
      .vjp = loop_vjp,
      .jvp = loop_jvp,
      .no_vmap = "copies may take different numbers of steps",
      .reference = loop_reference,
      .samples = loop_samples,
  };
  return def;
}

LoopResult loop(const Vars& states, const std::function<Var(const Vars&)>& condition,
                const std::function<Vars(const Vars&)>& body, const LoopOptions& options,
                Place place) {
  require(!states.empty(), "loop: needs at least one state");
  require(options.max_steps > 0, "loop: max_steps must be positive, got {}", options.max_steps);
  Graph& graph = states[0].graph();
  Vars inputs = states;
  std::vector<RegionId> regions;
  std::int64_t condition_inputs = 0;
  for (const bool is_condition : {true, false}) {
    RegionScope scope(graph);
    scope.step_param();
    Vars params;
    for (Var state : states) {
      params.push_back(scope.param({state.dtype(), state.shape()}));
    }
    regions.push_back(scope.finish(is_condition ? Vars{condition(params)} : body(params)));
    const Vars captures = scope.captures();
    inputs.insert(inputs.end(), captures.begin(), captures.end());
    condition_inputs = is_condition ? static_cast<std::int64_t>(captures.size()) : condition_inputs;
  }
  const Vars outputs = graph
                           .add(loop_def(), inputs,
                                {{"states", static_cast<std::int64_t>(states.size())},
                                 {"condition_inputs", condition_inputs},
                                 {"max_steps", options.max_steps},
                                 {"engine", graph.engine_for(options.engine)}},
                                regions, place)
                           .outputs();
  const auto count = static_cast<long>(states.size());
  return {.last = {outputs.begin(), outputs.begin() + count},
          .before = {outputs.begin() + count, outputs.begin() + 2 * count},
          .steps = outputs.back()};
}

}  // namespace antichain
