// Linear layers and what is made of them alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "antichain/nn/initialisers.h"
#include "antichain/ops/elementwise/elementwise.h"

namespace antichain::nn {

struct LinearOptions {
  std::string name = "linear";
  bool bias = true;
  Initialiser weight = glorot_uniform;
  BiasInitialiser bias_start = {};  // empty: 0
};
/// Returns x · weight + bias: maps the last axis of x, whose size must be known, to `out_features`.
/// Creates "<name>.weight" of shape [in, out] and "<name>.bias" of shape [out].
Var linear(Var x, std::int64_t out_features, const LinearOptions& options = {},
           Place place = Place::current());

using Activation = std::function<Var(const Operand&)>;

struct MlpOptions {
  std::string name = "mlp";
  Activation activation = relu;  // between layers; the last one has none
  bool bias = true;
  Initialiser weight = glorot_uniform;
  BiasInitialiser bias_start = {};  // empty: 0
};
/// Stacks linear layers of these widths. They are called "0", "1", …: "mlp.0.weight".
Var mlp(Var x, const std::vector<std::int64_t>& widths, const MlpOptions& options = {},
        Place place = Place::current());

struct MaxoutOptions {
  std::string name = "maxout";
  std::int64_t pieces = 2;
  bool bias = true;
  Initialiser weight = glorot_uniform;
};
/// Returns the greatest of `pieces` linear maps, element by element (Goodfellow et al., 2013,
/// section 3). Creates "<name>.weight" of shape [in, out * pieces], whose columns j * pieces …
/// (j + 1) * pieces - 1 belong to output j, and "<name>.bias".
Var maxout(Var x, std::int64_t out_features, const MaxoutOptions& options = {},
           Place place = Place::current());

}  // namespace antichain::nn
