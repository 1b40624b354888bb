// How long an op takes, found by running it.
#pragma once

#include <optional>

#include "antichain/graph/graph.h"
#include "antichain/runtime/backend.h"

namespace antichain {

/// Runs an op a few times on made-up values of these sizes and returns the seconds of its fastest
/// run. Nothing for an input or an op that has effects or empty values, runs bodies, or whose
/// sizes are not known.
std::optional<double> measured_seconds(Op op, const Backend& backend, const KernelTable& kernels,
                                       const DimEnv& sizes);

}  // namespace antichain
