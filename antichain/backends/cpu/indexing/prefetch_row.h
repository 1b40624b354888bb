// Rows that lie anywhere in memory are asked for some rows before they are used.
#pragma once

#include <algorithm>
#include <cstdint>

namespace antichain::cpu {

/// Whether the row is read or changed then.
enum class RowUse { read, change };

/// Asks for the beginning of a row; the hardware finds the rest of a long one by itself.
template <RowUse kUse = RowUse::read>
void prefetch_row(const void* row, std::int64_t bytes) {
  constexpr std::int64_t kLineBytes = 64, kMostLines = 8;
  const auto* const at = static_cast<const char*>(row);
  for (std::int64_t line = 0; line < std::min(bytes, kMostLines * kLineBytes); line += kLineBytes) {
    __builtin_prefetch(at + line, kUse == RowUse::change ? 1 : 0);
  }
}

}  // namespace antichain::cpu
