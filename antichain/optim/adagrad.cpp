#include "antichain/optim/adagrad.h"

#include "antichain/optim/gradient_step.h"

namespace antichain::optim {

std::vector<Var> adagrad(Var loss, const AdagradOptions& options) {
  require_positive("adagrad", "epsilon", options.epsilon);
  require_not_negative("adagrad", "initial", options.initial);
  const StepPlan plan{"adagrad", options.lr, options.weight_decay, options.step};
  return gradient_step(loss, plan, [&](const ParameterStep& step) {
    return step.update(adagrad_update_def(), {step.buffer("square", options.initial)},
                       {step.lr, options.epsilon, step.weight_decay});
  });
}

}  // namespace antichain::optim
