#include "antichain/backends/cpu/simd/row_loops.h"

#include "antichain/backends/cpu/simd/by_dtype.h"
#include "antichain/backends/cpu/simd/vector.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

using Doubles = Vector<double>;

inline double total(Doubles x) {
  double sum = 0;
  for (int lane = 0; lane < kLanes<double>; ++lane) {
    sum += x[lane];
  }
  return sum;
}

// Four sums of vectors, so that additions do not wait for each other.
template <class T>
[[gnu::flatten]] double row_product(const void* a, const void* b, std::int64_t width) {
  constexpr std::int64_t kStep = kLanes<double>;
  const T* const left = static_cast<const T*>(a);
  const T* const right = static_cast<const T*>(b);
  Doubles sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kStep <= width; i += 4 * kStep) {
    for (int part = 0; part < 4; ++part) {
      const std::int64_t at = i + part * kStep;
      sums[part] += load_vector<double>(left + at) * load_vector<double>(right + at);
    }
  }
  double sum = total((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < width; ++i) {
    sum += static_cast<double>(left[i]) * static_cast<double>(right[i]);
  }
  return sum;
}

// Sums of `kVectors` vectors stay in registers while all rows are added.
template <class T, int kVectors>
[[gnu::always_inline]] inline void add_columns(std::span<const ScaledRow> rows, std::int64_t first,
                                               double* sums) {
  constexpr std::int64_t kStep = kLanes<double>;
  Doubles own[kVectors];
  for (int part = 0; part < kVectors; ++part) {
    own[part] = load_vector<double>(sums + first + part * kStep);
  }
  for (const ScaledRow& scaled : rows) {
    const T* const values = static_cast<const T*>(scaled.row) + first;
    for (int part = 0; part < kVectors; ++part) {
      own[part] += scaled.factor * load_vector<double>(values + part * kStep);
    }
  }
  for (int part = 0; part < kVectors; ++part) {
    store_vector(sums + first + part * kStep, own[part]);
  }
}

template <class T>
[[gnu::flatten]] void add(std::span<const ScaledRow> rows, double* sums, std::int64_t width) {
  constexpr std::int64_t kStep = kLanes<double>;
  constexpr int kVectors = 8;  // half of the registers of a level that has few
  std::int64_t first = 0;
  for (; first + kVectors * kStep <= width; first += kVectors * kStep) {
    add_columns<T, kVectors>(rows, first, sums);
  }
  for (; first + kStep <= width; first += kStep) {
    add_columns<T, 1>(rows, first, sums);
  }
  for (const ScaledRow& scaled : rows) {
    const T* const values = static_cast<const T*>(scaled.row);
    for (std::int64_t i = first; i < width; ++i) {
      sums[i] += scaled.factor * static_cast<double>(values[i]);
    }
  }
}

// 16-bit rows are converted a tile at a time.
template <class T>
[[gnu::flatten]] double half_row_product(const void* a, const void* b, std::int64_t width) {
  double sum = 0;
  float left[kTile], right[kTile];
  for (std::int64_t first = 0; first < width; first += kTile) {
    const std::int64_t size = width - first < kTile ? width - first : kTile;
    widen(static_cast<const T*>(a) + first, left, size);
    widen(static_cast<const T*>(b) + first, right, size);
    sum += row_product<float>(left, right, size);
  }
  return sum;
}

template <class T>
[[gnu::flatten]] void half_add(std::span<const ScaledRow> rows, double* sums, std::int64_t width) {
  float values[kTile];
  for (const ScaledRow& scaled : rows) {
    for (std::int64_t first = 0; first < width; first += kTile) {
      const std::int64_t size = width - first < kTile ? width - first : kTile;
      widen(static_cast<const T*>(scaled.row) + first, values, size);
      const ScaledRow tile{scaled.factor, values};
      add<float>({&tile, 1}, sums + first, size);
    }
  }
}

template <class T>
[[gnu::flatten]] bool round_sums(const double* sums, void* row, std::int64_t width) {
  T* const values = static_cast<T*>(row);
  unsigned any = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    values[i] = convert<T>(sums[i]);
    any |= convert<float>(values[i]) != 0 ? 1U : 0U;
  }
  return any != 0;
}

// A double that is not zero may be zero as a float.
template <>
[[gnu::flatten]] bool round_sums<double>(const double* sums, void* row, std::int64_t width) {
  double* const values = static_cast<double*>(row);
  unsigned any = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    values[i] = sums[i];
    any |= values[i] != 0 ? 1U : 0U;
  }
  return any != 0;
}

template <class T>
constexpr RowLoops loops_of_rows() {
  if constexpr (kIsHalf<T>) {
    return {half_row_product<T>, half_add<T>, round_sums<T>};
  } else {
    return {row_product<T>, add<T>, round_sums<T>};
  }
}

constexpr RowLoops kFloatRows = loops_of_rows<float>(), kDoubleRows = loops_of_rows<double>(),
                   kBfloat16Rows = loops_of_rows<bfloat16>(),
                   kFloat16Rows = loops_of_rows<float16>();

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
const RowLoops& row_loops<kSimdLevel>(DType dtype) {
  switch (dtype) {
    case DType::f64: return ANTICHAIN_SIMD_LEVEL::kDoubleRows;
    case DType::bf16: return ANTICHAIN_SIMD_LEVEL::kBfloat16Rows;
    case DType::f16: return ANTICHAIN_SIMD_LEVEL::kFloat16Rows;
    default: return ANTICHAIN_SIMD_LEVEL::kFloatRows;
  }
}

}  // namespace antichain::cpu
