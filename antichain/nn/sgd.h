// Stochastic gradient descent.
#pragma once

#include <string>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain::optim {

struct SgdOptions {
  double lr = 0.01;
  double momentum = 0;      // in [0, 1)
  double weight_decay = 0;  // adds weight_decay * parameter to the gradient
  std::string engine = {};  // who differentiates; empty: back-propagation
};

/// Builds one step of gradient descent on every parameter of the graph and returns the updates, for
/// CompileOptions::updates. With gradient g of parameter w and velocity v, which starts at 0 and is
/// kept in the buffer "<w>.momentum":
///   v := momentum * v + g + weight_decay * w,   w := w - lr * v
/// (Sutskever et al., 2013, equations 1 and 2, with lr taken out of the velocity.)
std::vector<Var> sgd(Var loss, const SgdOptions& options = {});

}  // namespace antichain::optim
