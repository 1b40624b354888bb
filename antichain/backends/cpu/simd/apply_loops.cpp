// The loops of row-wise kernels. Compiled per level.
#include "antichain/backends/cpu/simd/apply_loops.h"

#include "antichain/backends/cpu/simd/by_dtype.h"
#include "antichain/backends/cpu/simd/fold_row.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

// The numbers of element i of a row or a column.
struct Fixed {
  double value;
  Fixed operator+(std::int64_t) const { return *this; }
};
inline double number(Fixed x) { return x.value; }
inline double number(const double* x) { return *x; }
inline Vector<double> numbers_from(Fixed x) { return Vector<double>{} + x.value; }
inline Vector<double> numbers_from(const double* x) { return load_vector<double>(x); }

struct Exponential {
  template <class W>
  static void run(const W* x, W* out, std::int64_t count, Fixed a, Fixed b, Fixed) {
    const W shift = static_cast<W>(a.value), scale = static_cast<W>(b.value);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = exponential(x[i] - shift) * scale;
    }
  }
};

// In double: the difference may cancel most of x.
struct Affine {
  template <class W, class A, class B, class C>
  static void run(const W* x, W* out, std::int64_t count, A a, B b, C c) {
    std::int64_t i = 0;
    for (; i + kLanes<double> <= count; i += kLanes<double>) {
      const Vector<double> value = load_vector<double>(x + i);
      store_vector(out + i,
                   (value - numbers_from(a + i)) * numbers_from(b + i) + numbers_from(c + i));
    }
    for (; i < count; ++i) {
      out[i] = static_cast<W>((static_cast<double>(x[i]) - number(a + i)) * number(b + i) +
                              number(c + i));
    }
  }
};

// (x - a) * b * scale + bias, with a and b of the row.
struct Normalize {
  template <class W>
  static void run(const W* x, W* out, std::int64_t count, double a, double b, const double* scale,
                  const double* bias) {
    const Vector<double> as = Vector<double>{} + a, bs = Vector<double>{} + b;
    std::int64_t i = 0;
    for (; i + kLanes<double> <= count; i += kLanes<double>) {
      const Vector<double> value = load_vector<double>(x + i);
      store_vector(out + i, (value - as) * (bs * load_vector<double>(scale + i)) +
                                load_vector<double>(bias + i));
    }
    for (; i < count; ++i) {
      out[i] = static_cast<W>((static_cast<double>(x[i]) - a) * (b * scale[i]) + bias[i]);
    }
  }
};

// How a loop finds the numbers of element i of a row: they are the row's, the columns', or both.
struct ByRow {
  template <class F, class W>
  static void run(const W* x, W* out, std::int64_t count, std::int64_t row, std::int64_t,
                  const ApplyNumbers& numbers, const double*, const double*) {
    F::run(x, out, count, Fixed{numbers.a[row]}, Fixed{numbers.b[row]}, Fixed{numbers.c[row]});
  }
};

struct ByColumn {
  template <class F, class W>
  static void run(const W* x, W* out, std::int64_t count, std::int64_t, std::int64_t column,
                  const ApplyNumbers& numbers, const double*, const double*) {
    F::run(x, out, count, numbers.a + column, numbers.b + column, numbers.c + column);
  }
};

struct ByRowThenColumn {
  template <class F, class W>
  static void run(const W* x, W* out, std::int64_t count, std::int64_t row, std::int64_t column,
                  const ApplyNumbers& numbers, const double* scale, const double* bias) {
    F::run(x, out, count, numbers.a[row], numbers.b[row], scale + column, bias + column);
  }
};

// Exponentials by column, a few rows at a time, for which the numbers are rounded once.
template <class S>
[[gnu::flatten]] void exponential_by_column(const void* data, void* result, std::int64_t rows,
                                            std::int64_t stride, std::int64_t count,
                                            const ApplyNumbers& numbers, const double*,
                                            const double*) {
  constexpr std::int64_t kRows = 8;
  const S* x = static_cast<const S*>(data);
  S* out = static_cast<S*>(result);
  alignas(kVectorBytes) Wide<S> a[kTile], b[kTile], tile[kTile];
  for (std::int64_t begin = 0; begin < rows; begin += kRows) {
    const std::int64_t end = rows - begin < kRows ? rows : begin + kRows;
    for (std::int64_t first = 0; first < count; first += kTile) {
      const std::int64_t size = count - first < kTile ? count - first : kTile;
      for (std::int64_t i = 0; i < size; ++i) {
        a[i] = static_cast<Wide<S>>(numbers.a[first + i]);
        b[i] = static_cast<Wide<S>>(numbers.b[first + i]);
      }
      for (std::int64_t row = begin; row < end; ++row) {
        widen(x + row * stride + first, tile, size);
        for (std::int64_t i = 0; i < size; ++i) {
          tile[i] = exponential(tile[i] - a[i]) * b[i];
        }
        narrow(tile, out + row * stride + first, size);
      }
    }
  }
}

// Keeps the exponentials of a row until their sum is known: in the result, or as floats if that has
// fewer bits.
template <class S>
[[gnu::flatten]] void softmax_of_rows(const void* data, void* result, std::int64_t rows,
                                      std::int64_t stride, std::int64_t count) {
  using W = Wide<S>;
  alignas(kVectorBytes) W wide[kIsHalf<S> ? kLongestSoftmax : 1];
  const S* x = static_cast<const S*>(data);
  S* out = static_cast<S*>(result);
  for (std::int64_t row = 0; row < rows; ++row, x += stride, out += stride) {
    const auto largest = static_cast<W>(fold_row<Extreme<true>>(x, count, 0, -__builtin_inf()));
    const W* from = wide;
    W* to = wide;
    if constexpr (kIsHalf<S>) {
      widen(x, wide, count);
    } else {
      from = x;
      to = out;
    }
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = exponential(from[i] - largest);
    }
    const auto scale = static_cast<W>(1 / fold_row<Sum>(static_cast<const W*>(to), count, 0, 0));
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] *= scale;
    }
    if constexpr (kIsHalf<S>) {
      narrow(wide, out, count);
    }
  }
}

template <class F, class By, class S>
[[gnu::flatten]] void apply_to(const void* data, void* result, std::int64_t rows,
                               std::int64_t stride, std::int64_t count, const ApplyNumbers& numbers,
                               const double* scale, const double* bias) {
  const S* x = static_cast<const S*>(data);
  S* out = static_cast<S*>(result);
  for (std::int64_t row = 0; row < rows; ++row, x += stride, out += stride) {
    if constexpr (kIsHalf<S>) {
      alignas(kVectorBytes) float tile[kTile];
      for (std::int64_t first = 0; first < count; first += kTile) {
        const std::int64_t size = count - first < kTile ? count - first : kTile;
        widen(x + first, tile, size);
        By::template run<F, float>(tile, tile, size, row, first, numbers, scale, bias);
        narrow(tile, out + first, size);
      }
    } else {
      By::template run<F, S>(x, out, count, row, 0, numbers, scale, bias);
    }
  }
}

template <class S>
constexpr ApplyLoops kApplyLoops = {
    softmax_of_rows<S>,
    apply_to<Exponential, ByRow, S>,
    exponential_by_column<S>,
    apply_to<Affine, ByRow, S>,
    apply_to<Affine, ByColumn, S>,
    apply_to<Normalize, ByRowThenColumn, S>,
};

constexpr auto kAllApplyLoops = by_float<ApplyLoops>([]<class S>() { return &kApplyLoops<S>; });

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
const ApplyLoops& apply_loops<kSimdLevel>(DType dtype) {
  return *ANTICHAIN_SIMD_LEVEL::kAllApplyLoops.tables[static_cast<int>(dtype)];
}

}  // namespace antichain::cpu
