// How a chain runs: its body once per step, each value written where it is wanted.
#pragma once

#include "antichain/graph/kernel_context.h"

namespace antichain {

/// Runs a chain. Stacked values are views into which the body writes; without them the states go
/// back and forth between two pieces of memory.
void chain_reference(KernelContext& context);

}  // namespace antichain
