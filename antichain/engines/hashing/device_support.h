// Whether a device has kernels for what the engine would ask of it.
#pragma once

#include "antichain/engines/hashing/hashing_engine.h"
#include "antichain/engines/hashing/hashing_options.h"

namespace antichain::hashing {

/// Says whether the device computes the ops of a layer, set like that, by itself: those that find
/// active units and those that keep tables up. `options` are those of for_layer().
Support device_support(const HashingDevice& device, const Options& options, DType weights);

}  // namespace antichain::hashing
