// The fastest way to run a program within a number of bytes.
#pragma once

#include <cstddef>
#include <functional>

#include "antichain/graph/dim.h"
#include "antichain/passes/graph_copy.h"

namespace antichain {

struct MemoryBudget {
  std::size_t bytes = 0;
  DimEnv sizes = {};  // what is planned for
  /// Returns the bytes that values in between take when a program runs at those sizes.
  std::function<std::size_t(const GraphCopy&)> needed = {};
  /// Returns how long an op takes at those sizes.
  std::function<double(Op)> seconds = {};
};

/// Returns the program, changed as little as makes it fit; throws InvalidArgument that names the
/// least that would, when nothing does. Results have the same bits.
///
/// Where several chains must keep fewer states, all of them get as many slots as they need to
/// evaluate each step the same number of times, the least for which they fit. What is left then
/// goes to the longest chain first, where a slot saves most. Only when chains alone do not make it
/// fit, they keep as few states as they can, and stages of the program
/// (antichain/passes/memory/stages.h) run again.
GraphCopy fit_memory(GraphCopy program, const MemoryBudget& budget);

}  // namespace antichain
