// RMSprop.
#pragma once

#include <vector>

#include "antichain/optim/schedule.h"
#include "antichain/optim/step_options.h"

namespace antichain::optim {

struct RmspropOptions {
  Schedule lr = 0.01;
  double decay = 0.99;      // in [0, 1): how long the mean of squares remembers
  double epsilon = 1e-8;    // keeps the divisor away from 0
  double momentum = 0;      // in [0, 1)
  double weight_decay = 0;  // adds weight_decay * parameter to the gradient
  StepOptions step = {};
};

/// Builds one step of RMSprop and returns the updates. With gradient g of parameter w, the mean of
/// squares s in the buffer "<w>.square" and, with momentum, the velocity v in "<w>.momentum":
///   g := g + weight_decay * w,   s := decay * s + (1 - decay) * g^2
///   v := momentum * v + g / (sqrt(s) + epsilon),   w := w - lr * v
/// (Tieleman and Hinton, 2012, lecture 6.5.)
std::vector<Var> rmsprop(Var loss, const RmspropOptions& options = {});

}  // namespace antichain::optim
