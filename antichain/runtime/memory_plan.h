// Where values lie in one piece of memory (an arena), so that those that live at different times
// share it: buffer assignment by lifetimes (liveness).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace antichain {

/// A value that must be in memory from step `first` to step `last`.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  // one per lifetime, multiples of kHostAlignment
  std::size_t bytes = 0;             // of the whole piece
};

/// Places values in several ways and returns the smallest plan; stops when one is within a percent
/// of live_bytes_bound(). `lifetimes` must be sorted by `first`. Of very many values, only the ways
/// that take O(n log n) are tried.
MemoryPlan plan_memory(std::span<const Lifetime> lifetimes);

/// Returns the most bytes that are alive at one step: no plan can do with less.
std::size_t live_bytes_bound(std::span<const Lifetime> lifetimes);

}  // namespace antichain
