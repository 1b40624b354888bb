// How a chain runs: its body once per step, each value written where it is wanted.
#pragma once

#include "antichain/graph/kernel_context.h"
#include "antichain/graph/op_def.h"

namespace antichain {

/// Runs a chain. Stacked values are views into which the body writes; states that are not stacked
/// go back and forth between two pieces of memory, of which the output is one.
void chain_reference(KernelContext& context);
/// Returns the size of those pieces.
WorkspaceSize chain_workspace(const KernelContext& context);

}  // namespace antichain
