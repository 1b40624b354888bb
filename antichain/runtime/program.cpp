#include "antichain/runtime/program.h"

#include <algorithm>
#include <unordered_set>

#include "antichain/graph/traversal.h"

namespace antichain {

namespace {

void bind_if_own(Dim dim, std::int64_t size, const std::vector<std::uint32_t>& own, DimEnv& env) {
  if (dim.is_symbol() && std::find(own.begin(), own.end(), dim.symbol()) != own.end()) {
    env.bind(dim.symbol(), size);
  }
}

// Learns the sizes that an op has found out.
void bind_own_symbols(Op op, std::span<const Tensor> outputs, const std::vector<std::uint32_t>& own,
                      DimEnv& env) {
  for (int i = 0; i < op.num_outputs(); ++i) {
    const Tensor& tensor = outputs[static_cast<std::size_t>(i)];
    const VarType& type = op.output(i).type();
    if (!tensor.defined()) {
      continue;
    }
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      bind_if_own(type.shape[axis], tensor.shape()[axis], own, env);
    }
    if (type.value) {
      const std::vector<std::int64_t> elements = tensor.to_vector<std::int64_t>();
      for (std::size_t n = 0; n < type.value->size(); ++n) {
        bind_if_own((*type.value)[n], elements[n], own, env);
      }
    }
  }
}

// A packed value where the kernel wants it. On the CPU this is the value itself, unless it is a
// view.
Tensor placed(const Tensor& value, bool on_host, const Backend& backend) {
  if (!value.is_contiguous()) {
    const Tensor packed = backend.to_host(value).contiguous();
    return on_host ? packed : backend.to_device(packed);
  }
  return on_host ? backend.to_host(value) : backend.to_device(value);
}

void check_constraints(Op op, const std::string& where, const DimEnv& env) {
  for (const DimConstraint& constraint : op.graph().constraints(op)) {
    const std::int64_t left = constraint.left.evaluate(env), right = constraint.right.evaluate(env);
    require<ShapeError>(left == right, "{}: {} do not match: {} is {}, {} is {}", where,
                        constraint.what, constraint.left.str(), left, constraint.right.str(),
                        right);
  }
}

}  // namespace

Program::Program(Graph& graph, std::span<const Var> params, std::span<const Var> results,
                 std::span<const Op> effects, const KernelTable& kernels, const Logger& logger) {
  std::unordered_set<VarId> given;
  for (Var param : params) {
    params_.push_back(slot_of(param));
    given.insert(param.id());
  }
  for (Op op : schedule(graph, results, effects)) {
    // Inputs of the root region are parameters, not steps.
    if (op.num_outputs() == 0 || !given.contains(op.output().id())) {
      steps_.push_back(make_step(graph, op, kernels, logger));
    }
  }
  for (Var result : results) {
    results_.push_back(slot_of(result));
  }
  plan_release();
}

Program::Slot Program::slot_of(Var value) {
  return slots_.try_emplace(value.id(), static_cast<Slot>(slots_.size())).first->second;
}

Program::Step Program::make_step(Graph& graph, Op op, const KernelTable& kernels,
                                 const Logger& logger) {
  Step step{.op = op, .where = op.describe(), .kernel = kernels.choose(op, logger)};
  step.on_host = step.kernel.name == kReferenceKernel;
  for (Var input : op.inputs()) {
    step.inputs.push_back(slot_of(input));
  }
  for (Var output : op.outputs()) {
    step.outputs.push_back(slot_of(output));
  }
  for (RegionId region : op.regions()) {
    step.regions.emplace_back(graph, graph.vars(graph.region(region).params),
                              graph.vars(graph.region(region).results), std::span<const Op>(),
                              kernels, logger);
  }
  return step;
}

void Program::plan_release() {
  std::vector<bool> needed(slots_.size());
  for (Slot slot : results_) {
    needed[slot] = true;
  }
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    for (Slot slot : step->outputs) {
      step->wanted.push_back(needed[slot]);
      if (!needed[slot]) {
        step->last_used.push_back(slot);
      }
    }
    for (Slot slot : step->inputs) {
      if (!needed[slot]) {
        needed[slot] = true;
        step->last_used.push_back(slot);
      }
    }
  }
}

std::vector<Tensor> Program::run(std::span<const Tensor> arguments, RunState& state) const {
  std::vector<Tensor> values(slots_.size());
  for (std::size_t i = 0; i < params_.size(); ++i) {
    values[params_[i]] = arguments[i];
  }
  for (const Step& step : steps_) {
    run_step(step, values, state);
  }
  std::vector<Tensor> results;
  results.reserve(results_.size());
  for (Slot slot : results_) {
    results.push_back(values[slot]);
  }
  return results;
}

void Program::run_step(const Step& step, std::vector<Tensor>& values, RunState& state) const {
  check_constraints(step.op, step.where, state.env);
  std::vector<Tensor> inputs, outputs(step.outputs.size());
  inputs.reserve(step.inputs.size());
  const Backend& backend = *state.backend;
  for (Slot slot : step.inputs) {
    inputs.push_back(placed(values[slot], step.on_host, backend));
  }
  if (!step.op.def().shape_from_data) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Var output = step.op.output(static_cast<int>(i));
      // Region ops keep only what is read; others compute all of their outputs.
      if (step.wanted[i] || step.regions.empty()) {
        const Shape shape = evaluate(output.shape(), state.env);
        outputs[i] = step.on_host ? Tensor::empty(output.dtype(), shape)
                                  : backend.allocate(output.dtype(), shape);
      }
    }
  }
  KernelContext context{.inputs = inputs,
                        .outputs = outputs,
                        .attrs = &step.op.attrs(),
                        .env = &state.env,
                        .states = state.states,
                        .run_region =
                            [&step, &state](int region, std::span<const Tensor> arguments) {
                              return step.regions[static_cast<std::size_t>(region)].run(arguments,
                                                                                        state);
                            },
                        .print_line = state.print_line,
                        .wanted = step.wanted,
                        .where = step.where};
  step.kernel.run(context);
  bind_own_symbols(step.op, outputs, step.op.graph().found_sizes(step.op), state.env);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    values[step.outputs[i]] = std::move(outputs[i]);
  }
  for (Slot slot : step.last_used) {
    values[slot] = Tensor();
  }
}

std::size_t Program::num_steps() const {
  std::size_t count = steps_.size();
  for (const Step& step : steps_) {
    for (const Program& region : step.regions) {
      count += region.num_steps();
    }
  }
  return count;
}

}  // namespace antichain
