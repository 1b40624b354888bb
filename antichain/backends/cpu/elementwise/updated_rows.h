// Rows of a parameter and of its buffers, where they lie.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "antichain/backends/cpu/elementwise/marked_rows.h"
#include "antichain/backends/cpu/indexing/prefetch_row.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/state/row_updates.h"

namespace antichain::cpu {

/// Rows of a table lie anywhere in memory: they are asked for while so many before are computed.
inline constexpr std::int64_t kRowsAhead = 12;

using IsZero = bool (*)(const void* row, std::int64_t width);
/// Returns what says of a row of this type whether all of its numbers are 0.
IsZero is_zero_of(DType dtype);

/// Where the rows of one update lie.
struct TableRows {
  UpdatedMemory memory;
  std::size_t states;
  RowLayout layout;
  std::int64_t first_bytes, other_bytes;  // of a row of the first state and of the others

  std::byte* at(std::size_t state, std::int64_t row) const {
    return static_cast<std::byte*>(memory.after[state]) +
           row * (state == 0 ? first_bytes : other_bytes);
  }
  void prefetch(std::int64_t row) const {
    for (std::size_t state = 0; state < states; ++state) {
      prefetch_row<RowUse::change>(at(state, row), state == 0 ? first_bytes : other_bytes);
    }
  }
};

TableRows table_rows(const KernelContext& context, std::span<const std::string> states);

}  // namespace antichain::cpu
