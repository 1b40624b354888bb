// Rows of a table that are marked: those that a sum of gradients has added to.
#pragma once

#include <cstring>

#include "antichain/backends/cpu/threads/parallel.h"

namespace antichain::cpu {

/// Calls f(row) for the rows that are marked, several at once.
template <class F>
void for_each_mark(const bool* marks, std::int64_t rows, F&& f) {
  parallel_ranges(rows, kElementGrain, [&](std::int64_t first, std::int64_t last) {
    const bool* at = marks + first;
    const bool* const end = marks + last;
    while ((at = static_cast<const bool*>(
                std::memchr(at, 1, static_cast<std::size_t>(end - at)))) != nullptr) {
      f(at - marks);
      ++at;
    }
  });
}

}  // namespace antichain::cpu
