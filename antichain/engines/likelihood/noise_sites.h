// Where noise can go: the pre-activations of layers, or values that the user names.
#pragma once

#include <string>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain::likelihood {

struct Site {
  Var value;        // in the region or, where there is a chain, in its body
  Op chain = {};    // whose steps have it; none: the region itself
  Var spread = {};  // log_sigma or a factor; none: the deviation is the engine's
  bool has_factor = false;
  bool learns_spread = false;
  std::string scope = {};       // of the layer, as names of its parameters show it
  std::string name = {};        // the scope; of several in one, with what tells them apart
  bool is_before_relu = false;  // and before nothing else

  DType dtype() const { return value.dtype(); }
  /// Returns the shape of the values of all steps.
  Dims shape() const;
};

/// Returns whether an op multiplies by what may be a weight.
bool is_product(Op op);

/// Finds the sites of a region op, in the order in which they are computed: those that the user
/// names or, if there are none, every product (of matrices, convolution, sparse) with a parameter,
/// behind the addition of its bias. `is_learned` tells parameters, by input of the op.
std::vector<Site> find_sites(Op op, const std::vector<bool>& is_learned);

}  // namespace antichain::likelihood
