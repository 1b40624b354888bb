// Stochastic gradient descent, and its form with a rate per layer.
#pragma once

#include <vector>

#include "antichain/optim/schedule.h"
#include "antichain/optim/step_options.h"

namespace antichain::optim {

struct SgdOptions {
  Schedule lr = 0.01;
  double momentum = 0;      // in [0, 1)
  double weight_decay = 0;  // adds weight_decay * parameter to the gradient
  StepOptions step = {};
};

/// Builds one step of gradient descent and returns the updates, for CompileOptions::updates. With
/// gradient g of parameter w and velocity v, which starts at 0 and is kept in the buffer
/// "<w>.momentum":
///   v := momentum * v + g + weight_decay * w,   w := w - lr * v
/// (Sutskever et al., 2013, equations 1 and 2, with lr taken out of the velocity.)
std::vector<Var> sgd(Var loss, const SgdOptions& options = {});

}  // namespace antichain::optim
