// Adagrad.
#pragma once

#include <vector>

#include "antichain/optim/schedule.h"
#include "antichain/optim/step_options.h"

namespace antichain::optim {

struct AdagradOptions {
  Schedule lr = 0.01;
  double epsilon = 1e-10;   // keeps the divisor away from 0
  double initial = 0;       // what the sums of squares start at
  double weight_decay = 0;  // adds weight_decay * parameter to the gradient
  StepOptions step = {};
};

/// Builds one step of Adagrad and returns the updates. With gradient g of parameter w and the sum
/// of squares s in the buffer "<w>.square":
///   g := g + weight_decay * w,   s := s + g^2,   w := w - lr * g / (sqrt(s) + epsilon)
/// (Duchi et al., 2011, figure 1 with diagonal matrices.)
std::vector<Var> adagrad(Var loss, const AdagradOptions& options = {});

}  // namespace antichain::optim
