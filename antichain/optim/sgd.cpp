#include "antichain/optim/sgd.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/optim/gradient_step.h"

namespace antichain::optim {

std::vector<Var> sgd(Var loss, const SgdOptions& options) {
  require_fraction("sgd", "momentum", options.momentum);
  require(!options.nesterov || options.momentum > 0, "sgd: nesterov needs a momentum above 0");
  const double along = options.nesterov ? options.momentum : 1, ahead = options.nesterov ? 1 : 0;
  const StepPlan plan{"sgd", options.lr, options.weight_decay, options.step};
  return gradient_step(loss, plan, [&](const ParameterStep& step) {
    if (options.momentum == 0) {
      return step.update(descent_update_def(), {}, {step.lr, step.weight_decay});
    }
    return step.update(momentum_update_def(), {step.buffer("momentum")},
                       {step.lr, 1.0, options.momentum, step.weight_decay, along, ahead});
  });
}

std::vector<Var> lars(Var loss, const LarsOptions& options) {
  require_fraction("lars", "momentum", options.momentum);
  require_positive("lars", "trust", options.trust);
  const StepPlan plan{"lars", options.lr, options.weight_decay, options.step,
                      "its rate follows from the norm of all of them"};
  return gradient_step(loss, plan, [&](const ParameterStep& step) {
    Var rate = step.lr;
    if (step.decays) {
      const Var size = norm(step.parameter), slope = norm(step.used_gradient());
      rate = rate * ratio_or_one(options.trust * size, slope + step.weight_decay * size,
                                 minimum(size, slope));
    }
    return step.update(momentum_update_def(), {step.buffer("momentum")},
                       {1.0, rate, options.momentum, step.weight_decay, 1.0, 0.0});
  });
}

}  // namespace antichain::optim
