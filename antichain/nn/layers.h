// Layers: functions that build a part of a graph and create its parameters on the way.
//
// Parameters are named by the layer within the scope that is open ("encoder.linear.weight"), so a
// name can be used once per scope. To use a layer's parameters again, read_state() them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "antichain/nn/initialisers.h"
#include "antichain/ops/elementwise.h"

namespace antichain::nn {

struct LinearOptions {
  std::string name = "linear";
  bool bias = true;  // starts at 0
  Initialiser weight = glorot_uniform;
};
/// Returns x · weight + bias: maps the last axis of x, whose size must be known, to `out_features`.
/// Creates "<name>.weight" of shape [in, out] and "<name>.bias" of shape [out], of the type of x.
Var linear(Var x, std::int64_t out_features, const LinearOptions& options = {});

using Activation = std::function<Var(const Operand&)>;

struct MlpOptions {
  std::string name = "mlp";
  Activation activation = relu;  // between layers; the last one has none
  bool bias = true;
  Initialiser weight = glorot_uniform;
};
/// Stacks linear layers of these widths. They are called "0", "1", …: "mlp.0.weight".
Var mlp(Var x, const std::vector<std::int64_t>& widths, const MlpOptions& options = {});

}  // namespace antichain::nn
