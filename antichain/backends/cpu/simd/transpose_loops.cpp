// Transposing a block of a matrix in registers, for elements of any size. Compiled per level.
#include "antichain/backends/cpu/simd/transpose_loops.h"

#include <cstdint>
#include <utility>

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

constexpr std::int64_t kCacheLine = 64;  // bytes, of all processors that matter here

// Transposes squares of as many rows as a vector of kBytes has elements.
template <class T, std::size_t kBytes>
struct SquareTranspose {
  static constexpr std::size_t kLanes = kBytes / sizeof(T);
  using Vector [[gnu::vector_size(kBytes)]] = T;

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
    (__builtin_memcpy(&rows[kRow], from + static_cast<std::int64_t>(kRow) * from_stride, kBytes),
     ...);
    interleave_rows<kLanes>(rows, all);
    (__builtin_memcpy(to + static_cast<std::int64_t>(kRow) * to_stride, &rows[kRow], kBytes), ...);
  }
  static void run(std::byte* to, std::int64_t to_stride, const std::byte* from,
                  std::int64_t from_stride) {
    run(to, to_stride, from, from_stride, std::make_index_sequence<kLanes>());
  }
};

#if defined(__AVX512F__)
// Elements of two rows are put together to words, those of even columns and then those of odd ones,
// and the words are transposed.
template <>
struct SquareTranspose<std::uint16_t, 64> {
  using Words = SquareTranspose<std::uint32_t, 64>;

  template <bool kOdd, std::size_t... kRow>
  static void columns(std::byte* to, std::int64_t to_stride, const std::byte* from,
                      std::int64_t from_stride, std::index_sequence<kRow...> all) {
    const auto pair = [=](std::int64_t row) {
      Words::Vector a, b;
      __builtin_memcpy(&a, from + 2 * row * from_stride, sizeof(a));
      __builtin_memcpy(&b, from + (2 * row + 1) * from_stride, sizeof(b));
      return kOdd ? (a >> 16) | (b & 0xFFFF0000U) : (a & 0xFFFFU) | (b << 16);
    };
    Words::Vector rows[] = {pair(kRow)...};
    Words::interleave_rows<Words::kLanes>(rows, all);
    (__builtin_memcpy(to + static_cast<std::int64_t>(2 * kRow + (kOdd ? 1 : 0)) * to_stride,
                      &rows[kRow], sizeof(rows[kRow])),
     ...);
  }
  static void run(std::byte* to, std::int64_t to_stride, const std::byte* from,
                  std::int64_t from_stride) {
    constexpr std::make_index_sequence<Words::kLanes> kAll;
    columns<false>(to, to_stride, from, from_stride, kAll);
    columns<true>(to, to_stride, from, from_stride, kAll);
  }
};
#endif

// The widest vectors of which a square fits the registers.
template <class T>
constexpr std::size_t widest() {
#if defined(__AVX512F__)
  return sizeof(T) >= 2 ? 64 : 16;
#else
  return 16;
#endif
}

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// A tile of whole cache lines on both sides, or less. It is gathered into a buffer, and the
// transposed one leaves from another: lines that lie a power of two apart push each other out of
// the cache before they have been used up.
template <class T, std::size_t kBytes>
void transpose_tile(std::byte* to, std::int64_t to_stride, const std::byte* from,
                    std::int64_t from_stride, std::int64_t rows, std::int64_t runs) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t kTile = kCacheLine / kSize;
  constexpr auto kLanes = static_cast<std::int64_t>(kBytes / sizeof(T));
  alignas(kCacheLine) std::byte tile[kTile * kCacheLine], turned[kTile * kCacheLine];
  const auto copy_lines = [](std::byte* target, std::int64_t target_stride, const std::byte* source,
                             std::int64_t source_stride, std::int64_t lines, std::int64_t bytes) {
    for (std::int64_t i = 0; i < lines; ++i) {
      if (bytes == kCacheLine) {
        __builtin_memcpy(target + i * target_stride, source + i * source_stride, kCacheLine);
      } else {
        __builtin_memcpy(target + i * target_stride, source + i * source_stride,
                         static_cast<std::size_t>(bytes));
      }
    }
  };
  copy_lines(tile, kCacheLine, from, from_stride, runs, rows * kSize);
  for (std::int64_t i = 0; i < rows; i += kLanes) {
    for (std::int64_t j = 0; j < runs; j += kLanes) {
      SquareTranspose<T, kBytes>::run(turned + i * kCacheLine + j * kSize, kCacheLine,
                                      tile + j * kCacheLine + i * kSize, kCacheLine);
    }
  }
  copy_lines(to, to_stride, turned, kCacheLine, rows, runs * kSize);
}

template <class T, std::size_t kBytes>
void transpose_block(std::byte* to, const std::byte* from, const CopyAxis& row,
                     const CopyAxis& run) {
  constexpr auto kLanes = static_cast<std::int64_t>(kBytes / sizeof(T));
  constexpr auto kTile = kCacheLine / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t rows = row.size / kLanes * kLanes, runs = run.size / kLanes * kLanes;
  for (std::int64_t r = 0; r < rows; r += kTile) {
    for (std::int64_t n = 0; n < runs; n += kTile) {
      std::byte* const target = to + r * row.to + n * run.to;
      const std::byte* const source = from + r * row.from + n * run.from;
      if constexpr (kLanes == kTile) {
        // Lines that lie far apart are not read ahead by themselves.
        for (std::int64_t k = 0; k < kTile; ++k) {
          __builtin_prefetch(source + k * run.from + kCacheLine);
        }
        SquareTranspose<T, kBytes>::run(target, row.to, source, run.from);
      } else {
        transpose_tile<T, kBytes>(target, row.to, source, run.from, smaller(kTile, rows - r),
                                  smaller(kTile, runs - n));
      }
    }
  }
  const auto rest = [&](std::int64_t first_row, std::int64_t last_row, std::int64_t first_run) {
    if constexpr (kBytes > 16) {
      transpose_block<T, 16>(to + first_row * row.to + first_run * run.to,
                             from + first_row * row.from + first_run * run.from,
                             {last_row - first_row, row.to, row.from},
                             {run.size - first_run, run.to, run.from});
    } else {
      for (std::int64_t i = first_row; i < last_row; ++i) {
        for (std::int64_t j = first_run; j < run.size; ++j) {
          __builtin_memcpy(to + i * row.to + j * run.to, from + i * row.from + j * run.from,
                           sizeof(T));
        }
      }
    }
  };
  rest(0, rows, runs);
  rest(rows, row.size, 0);
}

template <class T>
constexpr CopyBlock kTranspose = transpose_block<T, widest<T>()>;

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
CopyBlock transpose_loop<kSimdLevel>(std::size_t element_bytes) {
  switch (element_bytes) {
    case 1: return ANTICHAIN_SIMD_LEVEL::kTranspose<std::uint8_t>;
    case 2: return ANTICHAIN_SIMD_LEVEL::kTranspose<std::uint16_t>;
    case 4: return ANTICHAIN_SIMD_LEVEL::kTranspose<std::uint32_t>;
    default: return ANTICHAIN_SIMD_LEVEL::kTranspose<std::uint64_t>;
  }
}

}  // namespace antichain::cpu
