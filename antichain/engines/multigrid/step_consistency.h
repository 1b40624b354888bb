// How a coarse step that a body says of itself behaves as it gets shorter.
#pragma once

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::multigrid {

/// How many strides a coarse step is tried with: 1, 1/2, 1/4, …
inline constexpr int kTriedStrides = 5;

/// Builds, for the first step of a chain, numbers of type f64: how far the coarse step of stride 1
/// is from the fine step, and what the fine step changes; then how far one coarse step of twice
/// each stride is from two of that stride.
Vars step_consistency(Op chain);

}  // namespace antichain::multigrid
