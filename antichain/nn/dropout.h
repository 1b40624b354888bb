// Dropout.
#pragma once

#include "antichain/graph/graph.h"

namespace antichain::nn {

struct DropoutOptions {
  double rate = 0.5;  // within [0, 1): the probability that an element becomes 0
  bool training = false;
};
/// Sets elements of x to 0 at random and divides the others by 1 - rate, in training; otherwise
/// returns x (Srivastava et al., 2014, in the inverted form). A recomputed draw is the same draw.
Var dropout(Var x, const DropoutOptions& options = {}, Place place = Place::current());

}  // namespace antichain::nn
