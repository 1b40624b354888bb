#include "antichain/optim/sgd.h"

#include "antichain/optim/gradient_step.h"

namespace antichain::optim {

std::vector<Var> sgd(Var loss, const SgdOptions& options) {
  require_fraction("sgd", "momentum", options.momentum);
  const StepPlan plan{"sgd", options.lr, options.weight_decay, options.step};
  return gradient_step(loss, plan, [&](const ParameterStep& step) {
    if (options.momentum == 0) {
      return step.update(descent_update_def(), {}, {step.lr, step.weight_decay});
    }
    return step.update(momentum_update_def(), {step.buffer("momentum")},
                       {step.lr, 1.0, options.momentum, step.weight_decay});
  });
}

}  // namespace antichain::optim
