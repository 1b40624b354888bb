#include "antichain/optim/adam.h"

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/state/update_rules.h"
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
    return step.update(adam_update_def(), {step.buffer("mean"), step.buffer("square")},
                       {step.lr, 1 - options.beta1, 1 - options.beta2, options.epsilon,
                        correction(step, options.beta1), correction(step, options.beta2),
                        coupled ? step.weight_decay : 0.0, keep});
  });
}

}  // namespace

std::vector<Var> adam(Var loss, const AdamOptions& options) {
  return adam_with(Decay::coupled, "adam", loss, options);
}

std::vector<Var> adamw(Var loss, const AdamOptions& options) {
  return adam_with(Decay::decoupled, "adamw", loss, options);
}

std::vector<Var> lamb(Var loss, const AdamOptions& options) {
  require_adam("lamb", options);
  const StepPlan plan{"lamb", options.lr, options.weight_decay, options.step,
                      "its rate follows from the norm of all of them"};
  return gradient_step(loss, plan, [&](const ParameterStep& step) {
    const DType dtype = step.parameter.dtype(), wide = buffer_dtype(dtype);
    const std::string square = step.buffer("square");
    const Var mean =
        update_states(moments_update_def(), {step.buffer("mean"), square},
                      cast(step.gradient, wide), step.use, {1 - options.beta1, 1 - options.beta2});
    const Var direction = rules::adam_direction(
        mean, read_state(step.graph(), square), cast(correction(step, options.beta1), wide),
        cast(correction(step, options.beta2), wide), scalar(step.graph(), wide, options.epsilon));
    const Var weight = cast(step.parameter, wide);
    const Var change = direction + step.weight_decay * weight;
    Var rate = step.lr;
    if (step.decays) {
      const Var size = norm(weight), slope = norm(change);
      rate = rate * ratio_or_one(size, slope, minimum(size, slope));
    }
    ParameterStep last = step;
    last.gradient = cast(change, dtype);
    last.use.scale = scalar(step.graph(), f64, 1);
    last.use.limit = kNoLimit;
    return last.update(descent_update_def(), {}, {rate, 0.0});
  });
}

}  // namespace antichain::optim
