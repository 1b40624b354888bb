// Residual networks of many equal layers, as one chain along their depth.
//
// Layer n maps u to u + step * f(u; parameters n): an explicit Euler step of u' = f(u; parameters).
// The parameters of all layers are stacked, so that one chain walks over them and an engine may
// compute its gradient in any way. What comes before and behind belongs to the caller. Of a 16-bit
// u the sums are carried in f32, in which many small steps still add up.
#pragma once

#include <string>

#include "antichain/nn/linear.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::nn {

struct ResidualOptions {
  std::string name = "residual";
  double step = 1;
  Activation activation = tanh;
  bool bias = true;                     // starts at 0
  Initialiser weight = glorot_uniform;  // of one layer
  EngineChoice engine = {};             // who differentiates the chain
};
/// Applies `layers` layers u + step * activation(u · weight + bias) to u[samples, width]. Creates
/// "<name>.weight" of shape [layers, width, width] and "<name>.bias" of shape [layers, width].
Chain residual(Var u, std::int64_t layers, const ResidualOptions& options = {},
               Place place = Place::current());
/// Applies `layers` layers u + step * activation(conv(u, weight) + bias) with windows of 3 by 3 to
/// u[samples, channels, height, width]. Creates "<name>.weight" of shape [layers, channels,
/// channels, 3, 3] and "<name>.bias" of shape [layers, channels].
Chain residual_conv(Var u, std::int64_t layers, const ResidualOptions& options = {},
                    Place place = Place::current());

}  // namespace antichain::nn
