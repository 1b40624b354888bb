// Whether a scan is faster than the chain that walks back step by step.
#pragma once

#include <string>

#include "antichain/engines/scan/joint_state.h"

namespace antichain::scan {

struct WalkChoice {
  bool by_scan;
  std::string reason;  // one sentence with the estimates that decided
};

/// Chooses by what a step costs either way on a CPU, as far as sizes are known when the graph is
/// built; others count as 32. A chain that cannot be walked by a scan is walked step by step.
WalkChoice choose_walk(Op chain);

}  // namespace antichain::scan
