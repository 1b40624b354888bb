// How a chain runs: its body once per step, each value written where it is wanted.
#pragma once

#include <cstddef>

#include "antichain/graph/kernel_context.h"

namespace antichain {

/// Runs a chain. Stacked values are views into which the body writes; states that are not stacked
/// go back and forth between two pieces of memory.
void chain_reference(KernelContext& context);
/// Returns the bytes of those pieces.
std::size_t chain_workspace(const KernelContext& context);

}  // namespace antichain
