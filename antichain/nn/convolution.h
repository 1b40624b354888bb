// Convolutional layers, channels first: x[samples, channels, height, width].
#pragma once

#include <string>

#include "antichain/nn/initialisers.h"
#include "antichain/ops/operand.h"

namespace antichain::nn {

struct Conv2dOptions {
  std::string name = "conv";
  Ints stride = {};    // per axis; empty: 1
  Ints padding = {};   // zeros on both sides; empty: none
  Ints dilation = {};  // empty: 1
  std::int64_t groups = 1;
  bool bias = true;  // starts at 0
  Initialiser weight = glorot_uniform;
};
/// Convolves x[n, c, h, w], whose channels must be known, with `out_channels` windows of that
/// height and width. Creates "<name>.weight" of shape [out, c / groups, height, width] and
/// "<name>.bias" of shape [out].
Var conv2d(Var x, std::int64_t out_channels, const Ints& window, const Conv2dOptions& options = {},
           Place place = Place::current());

/// Averages over all spatial axes: [n, c, spatial...] becomes [n, c]. (For pooling by windows there
/// are the ops max_pool and avg_pool.)
Var global_avg_pool(Var x, Place place = Place::current());

}  // namespace antichain::nn
