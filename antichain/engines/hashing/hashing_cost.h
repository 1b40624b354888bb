// Whether a layer is faster with hash tables or as it is.
#pragma once

#include <string>

#include "antichain/engines/hashing/hashing_options.h"
#include "antichain/tensor/device.h"

namespace antichain::hashing {

/// What a training step takes for one layer on a device of this kind, in seconds, estimated.
struct LayerCost {
  double dense, hashed;
  bool pays() const { return hashed < dense; }
};
LayerCost layer_cost(const Options& layer, std::int64_t examples, DeviceKind device);

/// Says which, for messages: "hashed: 300 of 30000 units, about 2.1 ms a step instead of 30".
std::string describe(const Options& layer, const LayerCost& cost, bool is_hashed);

}  // namespace antichain::hashing
