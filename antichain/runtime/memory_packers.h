// Ways of placing values in one piece of memory. None is best for all; memory_plan.h tries them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "antichain/runtime/memory_plan.h"

namespace antichain {

/// Places values in the order in which they come alive, each into the smallest gap that takes it.
/// `lifetimes` must be sorted by `first`. Takes O(n log n).
MemoryPlan pack_forward(std::span<const Lifetime> lifetimes);
/// Likewise from the last step to the first.
MemoryPlan pack_backward(std::span<const Lifetime> lifetimes);

/// Places values in an order of importance, each at the lowest offset where it meets no value that
/// was placed before and lives at the same time.
class PriorityPacker {
 public:
  /// May look at `budget` pairs of values in all, since the time it takes grows with their number.
  PriorityPacker(std::span<const Lifetime> lifetimes, std::size_t budget)
      : lifetimes_(lifetimes), budget_(budget) {}

  /// Returns nothing when the budget is used up.
  std::optional<MemoryPlan> pack(std::span<const std::size_t> order);

 private:
  std::span<const Lifetime> lifetimes_;
  std::size_t budget_;
};

/// Returns the bytes that a value takes in a plan.
std::size_t aligned_bytes(const Lifetime& lifetime);

}  // namespace antichain
