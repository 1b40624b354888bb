// What an op costs, from its shapes alone.
#pragma once

#include <span>

#include "antichain/graph/graph.h"

namespace antichain {

/// Counts the floating-point operations of matrix products and convolutions: two for a
/// multiplication with its addition, also where element-wise ops are computed with it. What other
/// ops do is small beside these, and 0.
double flops(Op op, std::span<const Shape> inputs, std::span<const Shape> outputs);

/// Estimates how long an op takes at these sizes, its regions included, to compare ops with each
/// other: arithmetic and traffic to memory at the rates of a CPU core. Sizes that are not known
/// count as 1.
double estimated_seconds(Op op, const DimEnv& sizes);

}  // namespace antichain
