// How layers are computed when some of them have active units only.
#pragma once

#include "antichain/engines/hashing/hashing_options.h"
#include "antichain/ops/wide/wide_layers.h"

namespace antichain::hashing {

/// What has been computed for an op wide_layers.
struct Computed {
  Var output;        // stands for the op's output
  Var active_share;  // f64[]: of the units of hashed layers
  Var found_share;   // f64[]: of the active units, those that hashing gave, in the last such layer
  std::vector<ActiveUnits> units = {};  // by layer; nothing for dense ones
};
/// Builds the output; layers without states of the engine are computed as they are.
Computed compute_active(const WideLayers& parts, const Options& options);

}  // namespace antichain::hashing
