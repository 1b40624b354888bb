#include "antichain/runtime/program.h"

#include <algorithm>

#include "antichain/graph/traversal.h"
#include "antichain/runtime/step_order.h"

namespace antichain {

Program::Program(Graph& graph, std::span<const Var> params, std::span<const Var> results,
                 std::span<const Op> effects, const KernelTable& kernels, const Logger& logger) {
  IdSet<VarId> given;
  for (Var param : params) {
    params_.push_back(slot_of(param));
    given.insert(param.id());
  }
  for (Op op : order_steps(schedule(graph, results, effects))) {
    // Inputs of the root region are parameters, not steps.
    if (op.num_outputs() == 0 || !given.contains(op.output().id())) {
      steps_.push_back(make_step(op, kernels, logger));
    }
  }
  for (Var result : results) {
    results_.push_back(slot_of(result));
  }
  find_readers();
}

Program::Slot Program::slot_of(Var value) {
  Slot& slot = slots_[value.id()];
  if (slot == kNone) {
    slot = static_cast<Slot>(values_.size());
    values_.push_back(value);
  }
  return slot;
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

void Program::find_readers() {
  std::vector<bool> needed(values_.size());
  takes_strides_.assign(values_.size(), true);
  for (Slot slot : results_) {
    needed[slot] = true;
    takes_strides_[slot] = false;
  }
  for (const Step& step : steps_) {
    for (Slot slot : step.inputs) {
      needed[slot] = true;
      takes_strides_[slot] = takes_strides_[slot] && step.runner.kernel().strided_inputs;
    }
  }
  for (Step& step : steps_) {
    for (Slot slot : step.outputs) {
      step.wanted.push_back(needed[slot]);
    }
    // One that runs only because others wait for it computes something all the same.
    const bool only_computes = step.runner.op().def().effect == Effect::none;
    if (only_computes && !step.wanted.empty() && std::ranges::count(step.wanted, 1) == 0) {
      step.wanted[0] = 1;
    }
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
