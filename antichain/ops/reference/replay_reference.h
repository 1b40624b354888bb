// How a replayed chain runs.
#pragma once

#include "antichain/graph/kernel_context.h"
#include "antichain/graph/op_def.h"

namespace antichain {

/// Reverses the steps in the order that Revolve gives, on the rows that the chain has kept.
void replay_reference(KernelContext& context);
/// Returns the size of what it works in: carried values go back and forth, and so do states while
/// they are stepped forwards.
WorkspaceSize replay_workspace(const KernelContext& context);

}  // namespace antichain
