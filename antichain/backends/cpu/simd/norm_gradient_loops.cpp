// The loops of the gradients of norms. Compiled per level. Sums are in double, and so is what a
// difference may cancel.
#include "antichain/backends/cpu/simd/norm_gradient_loops.h"

#include "antichain/backends/cpu/simd/by_dtype.h"
#include "antichain/backends/cpu/simd/fold.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

// Calls f(g, x, first, size) for tiles of a row as float or double.
template <class S, class F>
void for_tiles(const S* g, const S* x, std::int64_t count, F f) {
  if constexpr (kIsHalf<S>) {
    alignas(kVectorBytes) float wide_g[kTile], wide_x[kTile];
    for (std::int64_t first = 0; first < count; first += kTile) {
      const std::int64_t size = count - first < kTile ? count - first : kTile;
      widen(g + first, wide_g, size);
      widen(x + first, wide_x, size);
      f(static_cast<const float*>(wide_g), static_cast<const float*>(wide_x), first, size);
    }
  } else {
    f(g, x, std::int64_t{0}, count);
  }
}

// Calls f(tile) and writes what it puts into the tile, which is the result itself unless that has
// fewer bits.
template <class S, class F>
void write_tile(S* out, std::int64_t size, F f) {
  if constexpr (kIsHalf<S>) {
    alignas(kVectorBytes) float tile[kTile];
    f(tile);
    narrow(tile, out, size);
  } else {
    f(out);
  }
}

template <class W>
void add_sums(const W* g, const W* x, std::int64_t count, double shift, GradientSums& sums) {
  constexpr int kWidth = kLanes<double>, kParts = 4;  // additions wait for each other
  const Vector<double> shifts = Vector<double>{} + shift;
  Vector<double> grads[kParts] = {}, products[kParts] = {};
  std::int64_t i = 0;
  for (; i + kParts * kWidth <= count; i += kParts * kWidth) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
      const Vector<double> grad = load_vector<double>(g + i + part * kWidth);
      grads[part] += grad;
      products[part] += grad * (load_vector<double>(x + i + part * kWidth) - shifts);
    }
  }
  sums.grad += join_lanes<Sum, double>((grads[0] + grads[1]) + (grads[2] + grads[3]));
  sums.product +=
      join_lanes<Sum, double>((products[0] + products[1]) + (products[2] + products[3]));
  for (; i < count; ++i) {
    const auto grad = static_cast<double>(g[i]);
    sums.grad += grad;
    sums.product += grad * (static_cast<double>(x[i]) - shift);
  }
}

template <class S>
[[gnu::flatten]] void sum_row(const void* g, const void* x, std::int64_t count, double shift,
                              GradientSums& sums) {
  for_tiles(static_cast<const S*>(g), static_cast<const S*>(x), count,
            [&](const auto* grads, const auto* values, std::int64_t, std::int64_t size) {
              add_sums(grads, values, size, shift, sums);
            });
}

// Adds kRows rows to the sums, which are so read and written once for all of them.
template <int kRows, class W>
void add_rows(const W* g, const W* x, std::int64_t stride, std::int64_t count, const double* shifts,
              double* grads, double* products) {
  std::int64_t i = 0;
  for (; i + kLanes<double> <= count; i += kLanes<double>) {
    const Vector<double> shift = load_vector<double>(shifts + i);
    Vector<double> total = load_vector<double>(grads + i),
                   product = load_vector<double>(products + i);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      const Vector<double> grad = load_vector<double>(g + row * stride + i);
      total += grad;
      product += grad * (load_vector<double>(x + row * stride + i) - shift);
    }
    store_vector(grads + i, total);
    store_vector(products + i, product);
  }
  for (; i < count; ++i) {
    for (int row = 0; row < kRows; ++row) {
      const auto grad = static_cast<double>(g[row * stride + i]);
      grads[i] += grad;
      products[i] += grad * (static_cast<double>(x[row * stride + i]) - shifts[i]);
    }
  }
}

template <int kRows, class S>
void add_rows_as_wide(const S* g, const S* x, std::int64_t stride, std::int64_t count,
                      const double* shifts, double* grads, double* products) {
  if constexpr (kIsHalf<S>) {
    constexpr std::int64_t kColumns = 128;
    alignas(kVectorBytes) float wide_g[kRows * kColumns], wide_x[kRows * kColumns];
    for (std::int64_t first = 0; first < count; first += kColumns) {
      const std::int64_t size = count - first < kColumns ? count - first : kColumns;
      for (int row = 0; row < kRows; ++row) {
        widen(g + row * stride + first, wide_g + row * kColumns, size);
        widen(x + row * stride + first, wide_x + row * kColumns, size);
      }
      add_rows<kRows, float>(wide_g, wide_x, kColumns, size, shifts + first, grads + first,
                             products + first);
    }
  } else {
    add_rows<kRows>(g, x, stride, count, shifts, grads, products);
  }
}

template <class S>
[[gnu::flatten]] void sum_columns(const void* g, const void* x, std::int64_t rows,
                                  std::int64_t stride, std::int64_t count, const double* shifts,
                                  double* grads, double* products) {
  constexpr int kTogether = 8;
  const S *from_g = static_cast<const S*>(g), *from_x = static_cast<const S*>(x);
  std::int64_t row = 0;
  for (; row + kTogether <= rows; row += kTogether) {
    add_rows_as_wide<kTogether>(from_g + row * stride, from_x + row * stride, stride, count, shifts,
                                grads, products);
  }
  for (; row < rows; ++row) {
    add_rows_as_wide<1>(from_g + row * stride, from_x + row * stride, stride, count, shifts, grads,
                        products);
  }
}

template <class S>
[[gnu::flatten]] void change_row(const void* g, const void* x, void* out, std::int64_t count,
                                 const GradientNumbers& numbers) {
  const double shift = numbers.shift, a = numbers.a, b = numbers.b, c = numbers.c;
  const Vector<double> shifts = Vector<double>{} + shift, as = Vector<double>{} + a,
                       bs = Vector<double>{} + b, cs = Vector<double>{} + c;
  for_tiles(static_cast<const S*>(g), static_cast<const S*>(x), count,
            [&](const auto* grads, const auto* values, std::int64_t first, std::int64_t size) {
              write_tile(static_cast<S*>(out) + first, size, [&](auto* to) {
                std::int64_t i = 0;
                for (; i + kLanes<double> <= size; i += kLanes<double>) {
                  store_vector(to + i, as * load_vector<double>(grads + i) +
                                           (bs * (load_vector<double>(values + i) - shifts) + cs));
                }
                for (; i < size; ++i) {
                  to[i] = static_cast<Wide<S>>(a * static_cast<double>(grads[i]) +
                                               (b * (static_cast<double>(values[i]) - shift) + c));
                }
              });
            });
}

template <class S>
[[gnu::flatten]] void change_columns(const void* g, const void* x, void* out, std::int64_t rows,
                                     std::int64_t stride, std::int64_t count,
                                     const GradientColumns& numbers) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for_tiles(
        static_cast<const S*>(g) + row * stride, static_cast<const S*>(x) + row * stride, count,
        [&](const auto* grads, const auto* values, std::int64_t first, std::int64_t size) {
          const double *shift = numbers.shift + first, *a = numbers.a + first,
                       *b = numbers.b + first, *c = numbers.c + first;
          write_tile(static_cast<S*>(out) + row * stride + first, size, [&](auto* to) {
            std::int64_t i = 0;
            for (; i + kLanes<double> <= size; i += kLanes<double>) {
              const Vector<double> distance =
                  load_vector<double>(values + i) - load_vector<double>(shift + i);
              store_vector(
                  to + i, load_vector<double>(a + i) * load_vector<double>(grads + i) +
                              (load_vector<double>(b + i) * distance + load_vector<double>(c + i)));
            }
            for (; i < size; ++i) {
              to[i] =
                  static_cast<Wide<S>>(a[i] * static_cast<double>(grads[i]) +
                                       (b[i] * (static_cast<double>(values[i]) - shift[i]) + c[i]));
            }
          });
        });
  }
}

template <class S>
[[gnu::flatten]] void softmax_rows(const void* g, const void* y, void* out, std::int64_t rows,
                                   std::int64_t count) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const S *grad = static_cast<const S*>(g) + row * count,
            *result = static_cast<const S*>(y) + row * count;
    GradientSums sums;
    sum_row<S>(grad, result, count, 0, sums);
    const auto total = static_cast<Wide<S>>(sums.product);
    for_tiles(grad, result, count,
              [&](const auto* grads, const auto* ys, std::int64_t first, std::int64_t size) {
                write_tile(static_cast<S*>(out) + row * count + first, size, [&](auto* to) {
#pragma GCC ivdep  // `out` may be g or y, element for element
                  for (std::int64_t i = 0; i < size; ++i) {
                    to[i] = ys[i] * (grads[i] - total);
                  }
                });
              });
  }
}

template <class S>
constexpr NormGradientLoops kNormGradientLoops = {sum_row<S>, sum_columns<S>, change_row<S>,
                                                  change_columns<S>, softmax_rows<S>};

constexpr auto kAllNormGradientLoops =
    by_float<NormGradientLoops>([]<class S>() { return &kNormGradientLoops<S>; });

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
const NormGradientLoops& norm_gradient_loops<kSimdLevel>(DType dtype) {
  return *ANTICHAIN_SIMD_LEVEL::kAllNormGradientLoops.tables[static_cast<int>(dtype)];
}

}  // namespace antichain::cpu
