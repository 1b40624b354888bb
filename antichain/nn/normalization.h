// Norms with parameters. Their statistics are computed in f32 at least.
#pragma once

#include <string>

#include "antichain/graph/graph.h"

namespace antichain::nn {

struct BatchNormOptions {
  std::string name = "batch_norm";
  bool training = false;
  double momentum = 0.1;  // within [0, 1]: the weight of this batch in the running statistics
  double epsilon = 1e-5;  // added to the variance
};
/// Normalises every channel (axis 1, of known size), then scales and shifts it by "<name>.scale"
/// and "<name>.bias" of shape [channels]: in training by the statistics of the batch, otherwise by
/// the buffers "<name>.running_mean" and "<name>.running_var". A run that computes the result in
/// training also updates the buffers,
///   running := (1 - momentum) * running + momentum * batch,
/// with the variance divided by (count - 1) (Ioffe and Szegedy, 2015, algorithm 2); for x in f16,
/// which may overflow, only where the statistics of the batch are finite.
Var batch_norm(Var x, const BatchNormOptions& options = {}, Place place = Place::current());

struct LayerNormOptions {
  std::string name = "layer_norm";
  std::int64_t axes = 1;  // how many trailing axes, of known sizes, are normalised
  double epsilon = 1e-5;  // added to the variance
};
/// Normalises over the last axes, then scales and shifts by "<name>.scale" and "<name>.bias" of
/// their shape (Ba, Kiros and Hinton, 2016).
Var layer_norm(Var x, const LayerNormOptions& options = {}, Place place = Place::current());

}  // namespace antichain::nn
