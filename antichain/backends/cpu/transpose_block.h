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
  typedef T Vector __attribute__((vector_size(16)));

  // Alternates the elements of halves of a and b: the lower halves, or the upper ones.
  template <std::size_t kFirst, std::size_t... kLane>
  static Vector interleave(Vector a, Vector b, std::index_sequence<kLane...>) {
    return __builtin_shufflevector(
        a, b, (kLane % 2 == 0 ? kFirst + kLane / 2 : kLanes + kFirst + kLane / 2)...);
  }

  static void run(std::byte* to, std::int64_t to_stride, const std::byte* from,
                  std::int64_t from_stride) {
    Vector rows[kLanes], next[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) {
      std::memcpy(&rows[i], from + static_cast<std::int64_t>(i) * from_stride, sizeof(Vector));
    }
    // Every step interleaves the first half of the rows with the second; after log2(lanes) steps
    // each element is where its transpose belongs.
    constexpr std::make_index_sequence<kLanes> kAll;
    for (std::size_t width = 1; width < kLanes; width *= 2) {
      for (std::size_t i = 0; i < kLanes / 2; ++i) {
        next[2 * i] = interleave<0>(rows[i], rows[i + kLanes / 2], kAll);
        next[2 * i + 1] = interleave<kLanes / 2>(rows[i], rows[i + kLanes / 2], kAll);
      }
      for (std::size_t i = 0; i < kLanes; ++i) {
        rows[i] = next[i];
      }
    }
    for (std::size_t i = 0; i < kLanes; ++i) {
      std::memcpy(to + static_cast<std::int64_t>(i) * to_stride, &rows[i], sizeof(Vector));
    }
  }
};

/// Copies a block whose source is packed along `row` and whose target is packed along `run`.
template <class T>
void transpose_block(std::byte* to, const std::byte* from, const CopyAxis& row,
                     const CopyAxis& run) {
  constexpr auto kLanes = static_cast<std::int64_t>(SquareTranspose<T>::kLanes);
  constexpr auto kTile = kCacheLine / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t rows = row.size / kLanes * kLanes, runs = run.size / kLanes * kLanes;
  // Tiles of whole cache lines on both sides, so that no line is fetched twice.
  for (std::int64_t r = 0; r < rows; r += kTile) {
    for (std::int64_t n = 0; n < runs; n += kTile) {
      for (std::int64_t i = r; i < std::min(r + kTile, rows); i += kLanes) {
        for (std::int64_t j = n; j < std::min(n + kTile, runs); j += kLanes) {
          SquareTranspose<T>::run(to + i * row.to + j * run.to, row.to,
                                  from + i * row.from + j * run.from, run.from);
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
