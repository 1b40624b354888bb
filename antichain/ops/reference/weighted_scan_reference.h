// Weighted scans, step by step in double.
#pragma once

#include "antichain/graph/kernel_context.h"

namespace antichain {

/// The inputs of weighted_scan: weights, the first states, diagonals and coefficients as the form
/// lists them and, if something is added, b.
struct WeightedInputs {
  enum { weights, initial, first_coefficient };
};

void weighted_scan_reference(KernelContext& context);

}  // namespace antichain
