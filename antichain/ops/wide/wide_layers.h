// wide_layers: layers of relu units as one op, with the loss of an output layer over very many
// classes, so that an engine may compute some of the units instead of all of them.
//
// The weight of a layer is [units, features]: what belongs to a unit is one row, which can be read,
// differentiated and updated by itself. Weights and biases have the type of x or, where that has 16
// bits, f32: rows that are read are converted, not the weight. So are losses.
//
// Inputs: x, then weight and bias of each layer, then labels and row_starts where the op gives
// losses. What is behind those, layer by layer, belongs to the engine that the op names (its
// tables, for example): the op itself does not look at it.
#pragma once

#include <span>
#include <vector>

#include "antichain/ops/wide/label_losses.h"

namespace antichain {

struct WideLayer {
  Var weight;                 // [units, features]
  Var bias;                   // [units]
  std::vector<Var> own = {};  // what the engine keeps about it
};

/// What an op wide_layers is made of.
struct WideLayers {
  Var x;  // [batch, features]
  std::vector<WideLayer> layers;
  LabelRows truth = {};  // none: the op gives the last layer's values, not losses
  bool training = true;  // false: nothing of an engine's own is kept up

  bool gives_losses() const { return truth.labels.valid(); }
  Graph& graph() const { return x.graph(); }
};

/// Returns relu(… relu(x W₀ᵀ + b₀) …) Wᵀ + b [batch, units of the last layer], or, with labels, the
/// loss of each example by label_losses [batch]. `engine` (EngineChoice::attribute()) is who
/// differentiates it.
Var wide_layers(const WideLayers& parts, const std::string& engine = {},
                Place place = Place::current());
/// Takes an op wide_layers apart.
WideLayers parts_of_wide_layers(Op op);

const OpDef& wide_layers_def();

std::vector<const OpDef*> wide_family();

}  // namespace antichain
