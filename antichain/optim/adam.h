// Adam and its relatives.
#pragma once

#include <vector>

#include "antichain/optim/schedule.h"
#include "antichain/optim/step_options.h"

namespace antichain::optim {

struct AdamOptions {
  Schedule lr = 0.001;
  double beta1 = 0.9;     // in [0, 1): how long the mean of gradients remembers
  double beta2 = 0.999;   // in [0, 1): how long the mean of squares remembers
  double epsilon = 1e-8;  // keeps the divisor away from 0
  double weight_decay = 0;
  StepOptions step = {};
};

/// Builds one step of Adam and returns the updates. With gradient g of parameter w, and moments m
/// and v in the buffers "<w>.mean" and "<w>.square", at step t = 1, 2, ...:
///   g := g + weight_decay * w
///   m := beta1 * m + (1 - beta1) * g,   v := beta2 * v + (1 - beta2) * g^2
///   w := w - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
/// (Kingma and Ba, 2015, algorithm 1.)
std::vector<Var> adam(Var loss, const AdamOptions& options = {});

/// Builds one step of AdamW: as adam(), but the weight decay goes past the moments:
///   w := w - lr * weight_decay * w, and then as above without it
/// (Loshchilov and Hutter, 2019, algorithm 2, with their schedule multiplier as part of lr.)
std::vector<Var> adamw(Var loss, const AdamOptions& options = {});

/// Builds one step of LAMB: with the direction d of adam() (m and v corrected, m / (sqrt(v) +
/// epsilon)) and norms |.|,
///   u = d + weight_decay * w,   w := w - lr * |w| / |u| * u
/// (You et al., 2020, algorithm 2, with phi the identity), without the ratio where |w| or |u| is 0.
/// A parameter that StepOptions::decays leaves out moves without the ratio, too, as is usual for
/// biases and norms.
std::vector<Var> lamb(Var loss, const AdamOptions& options = {});

}  // namespace antichain::optim
