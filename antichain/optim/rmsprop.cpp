#include "antichain/optim/rmsprop.h"

#include "antichain/optim/gradient_step.h"

namespace antichain::optim {

std::vector<Var> rmsprop(Var loss, const RmspropOptions& options) {
  require_fraction("rmsprop", "decay", options.decay);
  require_positive("rmsprop", "epsilon", options.epsilon);
  require_fraction("rmsprop", "momentum", options.momentum);
  const StepPlan plan{"rmsprop", options.lr, options.weight_decay, options.step};
  return gradient_step(loss, plan, [&](const ParameterStep& step) {
    std::vector<std::string> buffers = {step.buffer("square")};
    std::vector<Operand> numbers = {step.lr, 1 - options.decay, options.epsilon, step.weight_decay};
    if (options.momentum == 0) {
      return step.update(rmsprop_update_def(), buffers, numbers);
    }
    buffers.push_back(step.buffer("momentum"));
    numbers.emplace_back(options.momentum);
    return step.update(rmsprop_momentum_update_def(), buffers, numbers);
  });
}

}  // namespace antichain::optim
