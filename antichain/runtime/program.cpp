#include "antichain/runtime/program.h"

#include <unordered_set>

#include "antichain/graph/traversal.h"

namespace antichain {

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
      steps_.push_back(make_step(op, kernels, logger));
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

Program::Step Program::make_step(Op op, const KernelTable& kernels, const Logger& logger) {
  Step step{.runner = OpRunner(op, kernels, logger)};
  for (Var input : op.inputs()) {
    step.inputs.push_back(slot_of(input));
  }
  for (Var output : op.outputs()) {
    step.outputs.push_back(slot_of(output));
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

void Program::run_step(const Step& step, std::vector<Tensor>& values, RunState& state) {
  std::vector<Tensor> inputs;
  inputs.reserve(step.inputs.size());
  for (Slot slot : step.inputs) {
    inputs.push_back(values[slot]);
  }
  std::vector<Tensor> outputs = step.runner.run(inputs, step.wanted, state);
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
    for (const Program& region : step.runner.regions()) {
      count += region.num_steps();
    }
  }
  return count;
}

}  // namespace antichain
