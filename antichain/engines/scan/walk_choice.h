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

/// Chooses by estimates of what either way costs on a CPU or on a GPU, at the sizes that are known
/// or expected (Dim::expected) when the graph is built; others count as 32. A chain that cannot be
/// walked by a scan is walked step by step, and on a GPU one whose Jacobians are matrices and of
/// whose length nothing is known.
WalkChoice choose_walk(Op chain, DeviceKind device);

/// Likewise for a chain whose Jacobians are weights between diagonals, on a GPU; unknown numbers of
/// steps count as 1000, which take no more memory than the states.
WalkChoice choose_weighted_walk(Op chain);

}  // namespace antichain::scan
