// How much memory a program would take, found out by planning it and running nothing.
#pragma once

#include <cstddef>
#include <span>

#include "antichain/graph/graph.h"
#include "antichain/runtime/backend.h"
#include "antichain/runtime/kernel_table.h"

namespace antichain {

/// Returns what Executable::memory_bytes() is after a run at the sizes in `env`, with the same
/// results and effects.
std::size_t planned_memory(Graph& graph, std::span<const Var> results, std::span<const Op> effects,
                           const Backend& backend, const KernelTable& kernels, const DimEnv& env);

}  // namespace antichain
