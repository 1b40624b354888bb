#include "antichain/optim/adam.h"

#include "antichain/ops/creation.h"
#include "antichain/ops/elementwise.h"
#include "antichain/optim/gradient_step.h"

namespace antichain::optim {

namespace {

void require_adam(std::string_view optimiser, const AdamOptions& options) {
  require_fraction(optimiser, "beta1", options.beta1);
  require_fraction(optimiser, "beta2", options.beta2);
  require_positive(optimiser, "epsilon", options.epsilon);
}

// 1 / (1 - beta^t): moments that start at 0 are too small by that factor.
Var correction(const ParameterStep& step, double beta) {
  return 1.0 / (1.0 - pow(scalar(step.graph(), f64, beta), step.number));
}

enum class Decay { coupled, decoupled };

std::vector<Var> adam_with(Decay decay, std::string optimiser, Var loss,
                           const AdamOptions& options) {
  require_adam(optimiser, options);
  const StepPlan plan{std::move(optimiser), options.lr, options.weight_decay, options.step};
  return gradient_step(loss, plan, [&](const ParameterStep& step) {
    const bool coupled = decay == Decay::coupled;
    const Operand keep = coupled ? Operand(1.0) : Operand(1.0 - step.lr * step.weight_decay);
    return step.update(
        adam_update_def(), {step.buffer("mean"), step.buffer("square")},
        {step.lr, options.beta1, options.beta2, options.epsilon, correction(step, options.beta1),
         correction(step, options.beta2), coupled ? step.weight_decay : 0.0, keep});
  });
}

}  // namespace

std::vector<Var> adam(Var loss, const AdamOptions& options) {
  return adam_with(Decay::coupled, "adam", loss, options);
}

std::vector<Var> adamw(Var loss, const AdamOptions& options) {
  return adam_with(Decay::decoupled, "adamw", loss, options);
}

}  // namespace antichain::optim
