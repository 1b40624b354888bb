// Stochastic gradient descent, and its form with a rate per layer.
#pragma once

#include <vector>

#include "antichain/optim/schedule.h"
#include "antichain/optim/step_options.h"

namespace antichain::optim {

struct SgdOptions {
  Schedule lr = 0.01;
  double momentum = 0;      // in [0, 1)
  bool nesterov = false;    // takes the gradient ahead of the velocity; needs momentum
  double weight_decay = 0;  // adds weight_decay * parameter to the gradient
  StepOptions step = {};
};

/// Builds one step of gradient descent and returns the updates, for CompileOptions::updates. With
/// gradient g of parameter w and velocity v, which starts at 0 and is kept in the buffer
/// "<w>.momentum":
///   v := momentum * v + g + weight_decay * w,   w := w - lr * v
/// (Sutskever et al., 2013, equations 1 and 2, with lr taken out of the velocity.) With `nesterov`
///   w := w - lr * (g + weight_decay * w + momentum * v)
/// with the new v: their equations 3 and 4, seen from the point ahead, as is usual.
std::vector<Var> sgd(Var loss, const SgdOptions& options = {});

struct LarsOptions {
  Schedule lr = 0.01;
  double momentum = 0.9;    // in [0, 1)
  double trust = 0.001;     // how far a parameter moves, relative to its norm
  double weight_decay = 0;  // adds weight_decay * parameter to the gradient
  StepOptions step = {};
};

/// Builds one step of LARS and returns the updates: momentum with a learning rate of its own for
/// every parameter, which with norms |.|, and velocity v in "<w>.momentum", is
///   r = trust * |w| / (|g| + weight_decay * |w|), and 1 where |w| or |g| is 0
///   v := momentum * v + lr * r * (g + weight_decay * w),   w := w - v
/// (You et al., 2017, equations 5 and 6). A parameter that StepOptions::decays leaves out has r =
/// 1, as is usual for biases and norms.
std::vector<Var> lars(Var loss, const LarsOptions& options = {});

}  // namespace antichain::optim
