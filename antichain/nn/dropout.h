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

struct AdaptiveDropoutOptions {
  double share =
      0.5;  // within (0, 1]: of the elements of a row that are kept, at most and expected
  bool training = false;
};
/// Keeps elements of the rows of x[..., features] >= 0 with a probability p that grows with them:
/// the share times the number of features times x / (sum of x), at most 1. The others become 0; in
/// evaluation every element is multiplied by its p (Ba and Frey, 2013, with their tied weights: p
/// depends on the activation itself, and is not differentiated).
Var adaptive_dropout(Var x, const AdaptiveDropoutOptions& options = {},
                     Place place = Place::current());

}  // namespace antichain::nn
