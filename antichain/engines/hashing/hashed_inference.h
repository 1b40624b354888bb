// The values of layers in evaluation, when only those units are computed that hash tables give.
#pragma once

#include "antichain/engines/hashing/hashing_options.h"
#include "antichain/ops/wide/wide_layers.h"

namespace antichain::hashing {

/// Returns how layers are set in evaluation: each example has active units of its own, as many as
/// `inference_share` says.
Options for_inference(Options options);
/// Builds the values of the last layer. A unit that is not active counts as the least of those that
/// are, in hidden layers as 0.
Var compute_values(const WideLayers& parts, const Options& options);

}  // namespace antichain::hashing
