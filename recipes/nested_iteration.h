// Nested iteration: a shallow net is trained first, and its weights, each for two layers, are what
// a net of twice the depth starts from (Cyr, Günther and Schroder, 2019: "Multilevel initialization
// for layer-parallel deep neural network training").
#pragma once

#include <optional>
#include <vector>

#include "antichain/base/settings.h"
#include "antichain/tensor/tensor.h"

namespace antichain {

/// Returns the options of recipes whose depth is called `layers`.
std::vector<OptionSpec> nested_options();

/// Returns the settings of the net of half the depth that is to be trained first; nothing where
/// there is none. Throws InvalidArgument where the depth cannot be halved.
std::optional<Settings> settings_of_shallower_net(const Settings& settings);

/// Returns parameters of the layers of a net, [layers, ...], for one of twice the depth: every
/// layer twice or, linearly, with weights between those of neighbours.
Tensor refined_layers(const Tensor& layers, bool linearly);
/// Returns whether settings ask for linear refinement.
bool refines_linearly(const Settings& settings);

}  // namespace antichain
