// The loops of scans. Compiled per level.
#include "antichain/backends/cpu/simd/scan_loops.h"

#include "antichain/backends/cpu/simd/by_dtype.h"
#include "antichain/backends/cpu/simd/vector.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

constexpr int kExponentBias = 1023;
constexpr std::uint64_t kExponentField = 0x7FF, kExponentShift = 52;

// After how many steps products are rescaled: so few that the numbers of a map, at most 1 before,
// stay within the range of double. An f32 below 2^128 may do so four times, with matrices of any
// size; an f64 hardly once.
template <class S>
inline constexpr int kStepsPerScale = std::is_same_v<S, double> ? 1 : 4;

// Returns how far a number is from [0.5, 1) as a power of two; 0 for what has none (0, infinity).
inline std::int64_t exponent_of(double x) {
  const auto field = static_cast<std::int64_t>(
      (__builtin_bit_cast(std::uint64_t, x) >> kExponentShift) & kExponentField);
  const bool normal = (field != 0) & (field != static_cast<std::int64_t>(kExponentField));
  return normal ? field - (kExponentBias - 1) : 0;
}

inline double power_of_two(std::int64_t exponent) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(exponent + kExponentBias)
                                        << kExponentShift);
}

// Returns x * 2^exponent. Two factors, since one reaches only half of the way from the smallest to
// the largest double.
inline double scaled(double x, std::int64_t exponent) {
  constexpr std::int64_t kFarthest = 2 * (kExponentBias - 1);
  const std::int64_t low = exponent < -kFarthest ? -kFarthest : exponent;
  const std::int64_t within = low > kFarthest ? kFarthest : low;
  const std::int64_t half = within / 2;
  return x * power_of_two(half) * power_of_two(within - half);
}

// A row of elements as float or double: itself, or widened into `buffer`.
template <class S>
const Wide<S>* wide_row(const S* row, Wide<S>* buffer, std::int64_t count) {
  if constexpr (kIsHalf<S>) {
    widen(row, buffer, count);
    return buffer;
  } else {
    return row;
  }
}

// Calls f(first, size) for pieces of a row that fit into a tile.
template <class F>
void for_pieces(std::int64_t count, F f) {
  for (std::int64_t first = 0; first < count; first += kTile) {
    f(first, count - first < kTile ? count - first : std::int64_t{kTile});
  }
}

template <class S>
void write_row(const double* from, S* to, std::int64_t count) {
  if constexpr (kIsHalf<S>) {
    for_pieces(count, [&](std::int64_t first, std::int64_t size) {
      alignas(kVectorBytes) float tile[kTile];
      for (std::int64_t i = 0; i < size; ++i) {
        tile[i] = static_cast<float>(from[first + i]);
      }
      narrow(tile, to + first, size);
    });
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<S>(from[i]);
    }
  }
}

template <class S>
void read_row(const S* from, double* to, std::int64_t count) {
  for_pieces(count, [&](std::int64_t first, std::int64_t size) {
    alignas(kVectorBytes) Wide<S> tile[kTile];
    const Wide<S>* values = wide_row(from + first, tile, size);
    for (std::int64_t i = 0; i < size; ++i) {
      to[first + i] = static_cast<double>(values[i]);
    }
  });
}

// Columns: each number of a state for itself.

// Calls f(a, b, step) for the rows of every step, for a piece of the columns.
template <class S, class F>
void for_rows(const ScanSteps& steps, std::int64_t first, std::int64_t size, F f) {
  alignas(kVectorBytes) Wide<S> wide_a[kTile], wide_b[kTile];
  for (std::int64_t n = 0; n < steps.count; ++n) {
    const S* a = static_cast<const S*>(steps.a) + n * steps.a_stride + first;
    const S* b = static_cast<const S*>(steps.b) + n * steps.b_stride + first;
    f(wide_row(a, wide_a, size), wide_row(b, wide_b, size), n);
  }
}

// Whole rows step by step, since memory is read fastest along them.
template <class S>
[[gnu::flatten]] void run_columns(const ScanSteps& steps, double* state, void* out, double*) {
  alignas(kVectorBytes) Wide<S> wide_a[kTile], wide_b[kTile];
  for (std::int64_t n = 0; n < steps.count; ++n) {
    const S *row_a = static_cast<const S*>(steps.a) + n * steps.a_stride,
            *row_b = static_cast<const S*>(steps.b) + n * steps.b_stride;
    S* row = static_cast<S*>(out) + n * steps.b_stride;
    for_pieces(steps.width, [&](std::int64_t first, std::int64_t size) {
      double* s = state + first;
      const Wide<S>*a = wide_row(row_a + first, wide_a, size),
            *b = wide_row(row_b + first, wide_b, size);
      write_row(s, row + first, size);
      for (std::int64_t i = 0; i < size; ++i) {
        s[i] = s[i] * static_cast<double>(a[i]) + static_cast<double>(b[i]);
      }
    });
  }
}

inline void rescale_columns(double* factor, std::int64_t* exponent, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t extra = exponent_of(factor[i]);
    exponent[i] += extra;
    factor[i] = scaled(factor[i], -extra);
  }
}

template <class S>
[[gnu::flatten]] void multiply_columns(const ScanSteps& steps, const AffineMap& map, double*) {
  for_pieces(steps.width, [&](std::int64_t first, std::int64_t size) {
    double *factor = map.factor + first, *offset = map.offset + first;
    std::int64_t* exponent = map.exponent + first;
    for (std::int64_t i = 0; i < size; ++i) {
      factor[i] = 1;
      exponent[i] = 0;
      offset[i] = 0;
    }
    for_rows<S>(steps, first, size, [&](const auto* a, const auto* b, std::int64_t n) {
      for (std::int64_t i = 0; i < size; ++i) {
        const auto slope = static_cast<double>(a[i]);
        factor[i] *= slope;
        offset[i] = offset[i] * slope + static_cast<double>(b[i]);
      }
      if (n % kStepsPerScale<S> == kStepsPerScale<S> - 1) {
        rescale_columns(factor, exponent, size);
      }
    });
    rescale_columns(factor, exponent, size);
  });
}

[[gnu::flatten]] void apply_columns(const AffineMap& map, const double* from, double* to,
                                    std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) {
    to[i] = scaled(map.factor[i] * from[i], map.exponent[i]) + map.offset[i];
  }
}

[[gnu::flatten]] void join_columns(const AffineMap& earlier, const AffineMap& later,
                                   std::int64_t width, double*) {
  for (std::int64_t i = 0; i < width; ++i) {
    later.offset[i] += scaled(later.factor[i] * earlier.offset[i], later.exponent[i]);
    later.factor[i] *= earlier.factor[i];
    later.exponent[i] += earlier.exponent[i];
  }
  rescale_columns(later.factor, later.exponent, width);
}

// Matrices.

inline void clear(double* values, std::int64_t count) {
  __builtin_memset(values, 0, static_cast<std::size_t>(count) * sizeof(double));
}
inline void copy(const double* from, double* to, std::int64_t count) {
  __builtin_memcpy(to, from, static_cast<std::size_t>(count) * sizeof(double));
}

template <class W>
void add_multiple(double factor, const W* row, double* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] += factor * static_cast<double>(row[i]);
  }
}

// In lanes, so that additions need not wait for each other.
template <class W>
double dot(const W* a, const double* b, std::int64_t count) {
  constexpr int kParts = 8;
  double parts[kParts] = {};
  std::int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (int part = 0; part < kParts; ++part) {
      parts[part] += static_cast<double>(a[i + part]) * b[i + part];
    }
  }
  for (int part = 0; i < count; ++i, ++part) {
    parts[part] += static_cast<double>(a[i]) * b[i];
  }
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) +
         ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

// Calls f(values, i, first, size) for pieces of every row i of a matrix.
template <class S, class F>
void for_matrix_rows(const S* matrix, std::int64_t width, F f) {
  alignas(kVectorBytes) Wide<S> tile[kTile];
  for (std::int64_t i = 0; i < width; ++i) {
    for_pieces(width, [&](std::int64_t first, std::int64_t size) {
      f(wide_row(matrix + i * width + first, tile, size), i, first, size);
    });
  }
}

// s := op(matrix) s + b
template <class S>
void step(const S* matrix, const S* b, bool transposed, std::int64_t width, double* s,
          double* next) {
  read_row(b, next, width);
  for_matrix_rows(matrix, width,
                  [&](const auto* row, std::int64_t i, std::int64_t first, std::int64_t size) {
                    if (transposed) {
                      add_multiple(s[i], row, next + first, size);
                    } else {
                      next[i] += dot(row, s + first, size);
                    }
                  });
  copy(next, s, width);
}

// product := op(matrix) product
template <class S>
void multiply_by(const S* matrix, bool transposed, std::int64_t width, double* product,
                 double* next) {
  clear(next, width * width);
  for_matrix_rows(
      matrix, width, [&](const auto* row, std::int64_t i, std::int64_t first, std::int64_t size) {
        for (std::int64_t j = 0; j < size; ++j) {
          const std::int64_t from = transposed ? i : first + j, to = transposed ? first + j : i;
          add_multiple(static_cast<double>(row[j]), product + from * width, next + to * width,
                       width);
        }
      });
  copy(next, product, width * width);
}

inline void rescale_matrix(double* factor, std::int64_t* exponent, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double size = __builtin_fabs(factor[i]);
    largest = size > largest ? size : largest;
  }
  const std::int64_t extra = exponent_of(largest);
  *exponent += extra;
  for (std::int64_t i = 0; i < count; ++i) {
    factor[i] = scaled(factor[i], -extra);
  }
}

template <class S>
[[gnu::flatten]] void run_matrices(const ScanSteps& steps, double* state, void* out, double* work) {
  for (std::int64_t n = 0; n < steps.count; ++n) {
    write_row(state, static_cast<S*>(out) + n * steps.b_stride, steps.width);
    step(static_cast<const S*>(steps.a) + n * steps.a_stride,
         static_cast<const S*>(steps.b) + n * steps.b_stride, steps.transposed, steps.width, state,
         work);
  }
}

template <class S>
[[gnu::flatten]] void multiply_matrices(const ScanSteps& steps, const AffineMap& map,
                                        double* work) {
  const std::int64_t width = steps.width, numbers = width * width;
  clear(map.factor, numbers);
  clear(map.offset, width);
  *map.exponent = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    map.factor[i * width + i] = 1;
  }
  for (std::int64_t n = 0; n < steps.count; ++n) {
    const S* matrix = static_cast<const S*>(steps.a) + n * steps.a_stride;
    step(matrix, static_cast<const S*>(steps.b) + n * steps.b_stride, steps.transposed, width,
         map.offset, work);
    multiply_by(matrix, steps.transposed, width, map.factor, work);
    if (n % kStepsPerScale<S> == kStepsPerScale<S> - 1) {
      rescale_matrix(map.factor, map.exponent, numbers);
    }
  }
  rescale_matrix(map.factor, map.exponent, numbers);
}

[[gnu::flatten]] void apply_matrix(const AffineMap& map, const double* from, double* to,
                                   std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) {
    to[i] = scaled(dot(map.factor + i * width, from, width), *map.exponent) + map.offset[i];
  }
}

[[gnu::flatten]] void join_matrices(const AffineMap& earlier, const AffineMap& later,
                                    std::int64_t width, double* work) {
  apply_matrix(later, earlier.offset, work, width);
  copy(work, later.offset, width);
  clear(work, width * width);
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      add_multiple(later.factor[i * width + j], earlier.factor + j * width, work + i * width,
                   width);
    }
  }
  copy(work, later.factor, width * width);
  *later.exponent += *earlier.exponent;
  rescale_matrix(later.factor, later.exponent, width * width);
}

template <class S>
constexpr ScanLoops kColumns = {run_columns<S>, multiply_columns<S>, join_columns, apply_columns};
template <class S>
constexpr ScanLoops kMatrices = {run_matrices<S>, multiply_matrices<S>, join_matrices,
                                 apply_matrix};

constexpr auto kAllColumns = by_float<ScanLoops>([]<class S>() { return &kColumns<S>; });
constexpr auto kAllMatrices = by_float<ScanLoops>([]<class S>() { return &kMatrices<S>; });

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
const ScanLoops& scan_loops<kSimdLevel>(bool matrices, DType dtype) {
  const auto& all =
      matrices ? ANTICHAIN_SIMD_LEVEL::kAllMatrices : ANTICHAIN_SIMD_LEVEL::kAllColumns;
  return *all.tables[static_cast<int>(dtype)];
}

}  // namespace antichain::cpu
