// Wide layers: multilayer perceptrons whose layers may have very many units, such as an output
// layer over 10⁴ to 10⁶ classes. Weights lie by unit, so that the engine `hashing` may compute and
// update some of them only; every other engine differentiates them as what they are.
#pragma once

#include <string>
#include <vector>

#include "antichain/graph/engine_choice.h"
#include "antichain/nn/initialisers.h"
#include "antichain/nn/losses.h"

namespace antichain::nn {

struct WideOptions {
  std::string name = "wide";
  EngineChoice engine = {};              // who differentiates the layers
  Initialiser weight = normal(0, 0.01);  // of [units, features]
  bool training = true;                  // false: for evaluation; an engine leaves its tables alone
};

/// Returns relu(… relu(x W₀ᵀ + b₀) …) Wᵀ + b for x[batch, features]: the values [batch,
/// widths.back()] of the last layer, which has no relu. Parameters: "<name>.0.weight" [units,
/// features], "<name>.0.bias" [units], ….
Var wide_mlp(Var x, const std::vector<std::int64_t>& widths, const WideOptions& options = {},
             Place place = Place::current());
/// Returns multi_label_softmax of wide_mlp and the labels (with row_starts), the loss of each
/// example, as one op: so an engine need not compute what it does not look at. The parameters are
/// those of wide_mlp.
Var wide_losses(Var x, const std::vector<std::int64_t>& widths, const LabelSets& truth,
                const WideOptions& options = {}, Place place = Place::current());

}  // namespace antichain::nn
