// How a replayed chain runs.
#pragma once

#include <cstddef>

#include "antichain/graph/kernel_context.h"

namespace antichain {

/// Reverses the steps in the order that Revolve gives, on the rows that the chain has kept.
void replay_reference(KernelContext& context);
/// Returns the bytes that it works in: states and carried values go back and forth.
std::size_t replay_workspace(const KernelContext& context);

}  // namespace antichain
