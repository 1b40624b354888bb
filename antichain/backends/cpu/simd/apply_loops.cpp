// The loops of row-wise kernels. Compiled per level.
#include "antichain/backends/cpu/simd/apply_loops.h"

#include "antichain/backends/cpu/simd/vector.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

struct Exponential {
  template <class W>
  static W apply(W x, double a, double b, double) {
    return exponential(x - static_cast<W>(a)) * static_cast<W>(b);
  }
};

// In double: the difference may cancel most of x.
struct Affine {
  template <class W>
  static W apply(W x, double a, double b, double c) {
    return static_cast<W>((static_cast<double>(x) - a) * b + c);
  }
};

// How a loop finds the numbers for element i of row r.
struct ByRow {
  template <class F, class W>
  static void run(const W* x, W* out, std::int64_t count, std::int64_t row, std::int64_t,
                  const ApplyNumbers& numbers, const double*, const double*) {
    const double a = numbers.a[row], b = numbers.b[row], c = numbers.c ? numbers.c[row] : 0;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = F::apply(x[i], a, b, c);
    }
  }
};

struct ByColumn {
  template <class F, class W>
  static void run(const W* x, W* out, std::int64_t count, std::int64_t, std::int64_t column,
                  const ApplyNumbers& numbers, const double*, const double*) {
    const double *a = numbers.a + column, *b = numbers.b + column;
    const double* c = numbers.c ? numbers.c + column : nullptr;
    if (c) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) {
        out[i] = F::apply(x[i], a[i], b[i], c[i]);
      }
    } else {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) {
        out[i] = F::apply(x[i], a[i], b[i], 0);
      }
    }
  }
};

struct ByRowThenColumn {
  template <class F, class W>
  static void run(const W* x, W* out, std::int64_t count, std::int64_t row, std::int64_t column,
                  const ApplyNumbers& numbers, const double* scales, const double* biases) {
    const double a = numbers.a[row], b = numbers.b[row];
    const double *scale = scales + column, *bias = biases + column;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = F::apply(x[i], a, b * scale[i], bias[i]);
    }
  }
};

template <class F, class By, class S>
[[gnu::flatten]] void apply_to(const void* data, void* result, std::int64_t rows,
                               std::int64_t stride, std::int64_t count, const ApplyNumbers& numbers,
                               const double* scale, const double* bias) {
  const S* x = static_cast<const S*>(data);
  S* out = static_cast<S*>(result);
  for (std::int64_t row = 0; row < rows; ++row, x += stride, out += stride) {
    if constexpr (kIsHalf<S>) {
      float tile[kTile];
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
constexpr ApplyLoops kLoops = {
    apply_to<Exponential, ByRow, S>,      apply_to<Exponential, ByColumn, S>,
    apply_to<Affine, ByRow, S>,           apply_to<Affine, ByColumn, S>,
    apply_to<Affine, ByRowThenColumn, S>,
};

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
const ApplyLoops& apply_loops<kSimdLevel>(DType dtype) {
  switch (dtype) {
    case DType::f64: return ANTICHAIN_SIMD_LEVEL::kLoops<double>;
    case DType::bf16: return ANTICHAIN_SIMD_LEVEL::kLoops<bfloat16>;
    case DType::f16: return ANTICHAIN_SIMD_LEVEL::kLoops<float16>;
    default: return ANTICHAIN_SIMD_LEVEL::kLoops<float>;
  }
}

}  // namespace antichain::cpu
