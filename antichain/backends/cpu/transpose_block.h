// Transposing a block of a matrix in registers, for elements of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "antichain/backends/cpu/copy_plan.h"

namespace antichain::cpu {

inline constexpr std::int64_t kCacheLine = 64;  // bytes, of all processors that matter here

/// Transposes squares of as many rows as a 16-byte vector has elements.
template <class T>
struct SquareTranspose {
  static constexpr std::size_t kLanes = 16 / sizeof(T);
  using Vector [[gnu::vector_size(16)]] = T;

  // Alternates the elements of halves of a and b: the lower halves, or the upper ones.
  template <std::size_t kFirst, std::size_t... kLane>
  static Vector interleave(Vector a, Vector b, std::index_sequence<kLane...>) {
    return __builtin_shufflevector(
        a, b, (kLane % 2 == 0 ? kFirst + kLane / 2 : kLanes + kFirst + kLane / 2)...);
  }

  // Every step interleaves the first half of the rows with the second; after log2(lanes) steps each
  // element is where its transpose belongs.
  template <std::size_t kSteps, std::size_t... kRow>
  static void interleave_rows(Vector (&rows)[kLanes], std::index_sequence<kRow...> all) {
    if constexpr (kSteps > 1) {
      const Vector next[] = {
          interleave<kRow % 2 * (kLanes / 2)>(rows[kRow / 2], rows[kRow / 2 + kLanes / 2], all)...};
      ((rows[kRow] = next[kRow]), ...);
      interleave_rows<kSteps / 2>(rows, all);
    }
  }

  template <std::size_t... kRow>
  static void run(std::byte* to, std::int64_t to_stride, const std::byte* from,
                  std::int64_t from_stride, std::index_sequence<kRow...> all) {
    Vector rows[kLanes];
    (std::memcpy(&rows[kRow], from + static_cast<std::int64_t>(kRow) * from_stride, sizeof(Vector)),
     ...);
    interleave_rows<kLanes>(rows, all);
    (std::memcpy(to + static_cast<std::int64_t>(kRow) * to_stride, &rows[kRow], sizeof(Vector)),
     ...);
  }
  static void run(std::byte* to, std::int64_t to_stride, const std::byte* from,
                  std::int64_t from_stride) {
    run(to, to_stride, from, from_stride, std::make_index_sequence<kLanes>());
  }
};

/// Copies a block whose source is packed along `row` and whose target is packed along `run`.
template <class T>
void transpose_block(std::byte* to, const std::byte* from, const CopyAxis& row,
                     const CopyAxis& run) {
  constexpr auto kLanes = static_cast<std::int64_t>(SquareTranspose<T>::kLanes);
  constexpr auto kTile = kCacheLine / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t rows = row.size / kLanes * kLanes, runs = run.size / kLanes * kLanes;
  // Tiles of whole cache lines on both sides. A tile is gathered into a buffer first: lines that
  // lie a power of two apart push each other out of the cache before they have been used up.
  alignas(kCacheLine) std::byte tile[kTile * kCacheLine];
  for (std::int64_t r = 0; r < rows; r += kTile) {
    const std::int64_t last_row = std::min(r + kTile, rows);
    const auto bytes = static_cast<std::size_t>(last_row - r) * sizeof(T);
    for (std::int64_t n = 0; n < runs; n += kTile) {
      const std::int64_t last_run = std::min(n + kTile, runs);
      for (std::int64_t j = n; j < last_run; ++j) {
        const std::byte* line = from + r * row.from + j * run.from;
        if (bytes == kCacheLine) {
          std::memcpy(tile + (j - n) * kCacheLine, line, kCacheLine);
        } else {
          std::memcpy(tile + (j - n) * kCacheLine, line, bytes);
        }
      }
      for (std::int64_t i = r; i < last_row; i += kLanes) {
        for (std::int64_t j = n; j < last_run; j += kLanes) {
          SquareTranspose<T>::run(
              to + i * row.to + j * run.to, row.to,
              tile + (j - n) * kCacheLine + (i - r) * static_cast<std::int64_t>(sizeof(T)),
              kCacheLine);
        }
      }
    }
  }
  const auto rest = [&](std::int64_t first_row, std::int64_t last_row, std::int64_t first_run) {
    for (std::int64_t i = first_row; i < last_row; ++i) {
      for (std::int64_t j = first_run; j < run.size; ++j) {
        std::memcpy(to + i * row.to + j * run.to, from + i * row.from + j * run.from, sizeof(T));
      }
    }
  };
  rest(0, rows, runs);
  rest(rows, row.size, 0);
}

}  // namespace antichain::cpu
