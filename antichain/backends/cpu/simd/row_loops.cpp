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

template <class T>
[[gnu::flatten]] void add(double factor, const void* row, double* sums, std::int64_t width) {
  constexpr std::int64_t kStep = kLanes<double>;
  const T* const values = static_cast<const T*>(row);
  std::int64_t i = 0;
  for (; i + kStep <= width; i += kStep) {
    store_vector(sums + i,
                 load_vector<double>(sums + i) + factor * load_vector<double>(values + i));
  }
  for (; i < width; ++i) {
    sums[i] += factor * static_cast<double>(values[i]);
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
[[gnu::flatten]] void half_add(double factor, const void* row, double* sums, std::int64_t width) {
  float values[kTile];
  for (std::int64_t first = 0; first < width; first += kTile) {
    const std::int64_t size = width - first < kTile ? width - first : kTile;
    widen(static_cast<const T*>(row) + first, values, size);
    add<float>(factor, values, sums + first, size);
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
  using namespace ANTICHAIN_SIMD_LEVEL;
  switch (dtype) {
    case DType::f64: return kDoubleRows;
    case DType::bf16: return kBfloat16Rows;
    case DType::f16: return kFloat16Rows;
    default: return kFloatRows;
  }
}

}  // namespace antichain::cpu
