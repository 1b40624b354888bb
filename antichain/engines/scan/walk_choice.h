// Whether a scan is faster than the chain that walks back step by step.
#pragma once

#include <string>

#include "antichain/engines/scan/joint_state.h"
#include "antichain/tensor/device.h"

namespace antichain::scan {

struct WalkChoice {
  bool by_scan;
  std::string reason;  // one sentence with the estimates that decided
};

/// Chooses by estimates of what either way costs on a CPU or on a GPU, as far as sizes are known
/// when the graph is built; others count as 32, and unknown numbers of steps as 1000. A chain that
/// cannot be walked by a scan is walked step by step.
WalkChoice choose_walk(Op chain, DeviceKind device);

/// Likewise for a chain whose Jacobians are weights between diagonals, on a GPU.
WalkChoice choose_weighted_walk(Op chain);

}  // namespace antichain::scan
