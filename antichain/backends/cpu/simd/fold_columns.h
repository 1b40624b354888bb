// Folding packed rows of floats that lie below each other, column by column.
#pragma once

#include "antichain/backends/cpu/simd/fold.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

// The sum of a few rows, as floats.
template <class F, int kRows, class S>
Two sum_of_rows(const S* x, std::int64_t stride, Two shift) {
  const auto term = [&](int row) -> Two {
    const Two value = load_two(x + row * stride);
    return {F::term(value.a, shift.a), F::term(value.b, shift.b)};
  };
  if constexpr (kRows == 1) {
    return term(0);
  } else {
    Two even = term(0), odd = term(1);
#pragma GCC unroll 16
    for (int row = 2; row < kRows; row += 2) {
      const Two next = term(row), after = term(row + 1);
      even = {even.a + next.a, even.b + next.b};
      odd = {odd.a + after.a, odd.b + after.b};
    }
    return {even.a + odd.a, even.b + odd.b};
  }
}

// Numbers are compared as if there were no NaN, and NaN is looked for in two rows at once.
template <class F, int kRows, class S>
Two extreme_of_rows(const S* x, std::int64_t stride) {
  Two total = load_two(x), last = total;
  LaneMask a = kAllLanes, b = kAllLanes;
#pragma GCC unroll 16
  for (int row = 1; row < kRows; ++row) {
    const Two next = load_two(x + row * stride);
    total = {F::fold_number(total.a, next.a), F::fold_number(total.b, next.b)};
    if (row % 2 != 0) {
      a = without_nan(a, last.a, next.a);
      b = without_nan(b, last.b, next.b);
    }
    last = next;
  }
  if constexpr (kRows % 2 != 0) {
    a = without_nan(a, last.a, last.a);
    b = without_nan(b, last.b, last.b);
  }
  return {nan_outside(a, total.a), nan_outside(b, total.b)};
}

// Folds kRows rows in lanes of float, and the results into totals, which are so read and written
// once for all of the rows. Returns how many columns it did: whole vectors.
template <int kRows, class F, class S>
std::int64_t fold_rows_in_floats(const S* x, std::int64_t stride, std::int64_t count,
                                 const double* shifts, double* totals) {
  constexpr int kColumns = 2 * kFloats, kWidth = kLanes<double>;
  std::int64_t i = 0;
  for (; i + kColumns <= count; i += kColumns) {
    Two some, shift{};
    if constexpr (std::is_same_v<F, Squares>) {
      shift = round_two<S>(shifts + i);
    }
    if constexpr (HasStart<F>) {
      some = sum_of_rows<F, kRows>(x + i, stride, shift);
    } else {
      some = extreme_of_rows<F, kRows>(x + i, stride);
    }
    some = in_order<S>(some);
    const Halves a = halves(some.a), b = halves(some.b);
    const auto join = [to = totals + i](int at, Vector<double> value) {
      store_vector(to + at, F::join(load_vector<double>(to + at), value));
    };
    join(0, a.first);
    join(kWidth, a.last);
    join(2 * kWidth, b.first);
    join(3 * kWidth, b.last);
  }
  return i;
}

// The same in lanes of double.
template <int kRows, class F, class W>
std::int64_t fold_rows_in_doubles(const W* x, std::int64_t stride, std::int64_t count,
                                  const double* shifts, double* totals) {
  constexpr int kWidth = kLanes<double>;
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    const Vector<double> shift = load_vector<double>(shifts + i);
    Vector<double> total = load_vector<double>(totals + i);
#pragma GCC unroll 8
    for (int row = 0; row < kRows; ++row) {
      total = F::fold(total, load_vector<double>(x + row * stride + i), shift);
    }
    store_vector(totals + i, total);
  }
  return i;
}

template <int kRows, class F, class S>
void fold_rows_together(const S* x, std::int64_t stride, std::int64_t count, const double* shifts,
                        double* totals) {
  std::int64_t i = 0;
  if constexpr (kInFloats<F, S>) {
    i = fold_rows_in_floats<kRows, F>(x, stride, count, shifts, totals);
  }
  if constexpr (kIsHalf<S>) {
    // The rest is less than two vectors.
    constexpr int kMost = 2 * kFloats;
    float wide[kRows * kMost];
    if (i < count) {
      for (int row = 0; row < kRows; ++row) {
        widen(x + row * stride + i, wide + row * kMost, count - i);
      }
      fold_rows_together<kRows, F>(static_cast<const float*>(wide), kMost, count - i, shifts + i,
                                   totals + i);
    }
  } else {
    i += fold_rows_in_doubles<kRows, F>(x + i, stride, count - i, shifts + i, totals + i);
    for (; i < count; ++i) {
      for (int row = 0; row < kRows; ++row) {
        totals[i] = F::fold(totals[i], static_cast<double>(x[row * stride + i]), shifts[i]);
      }
    }
  }
}

template <class F, class S>
void fold_columns(const S* x, std::int64_t rows, std::int64_t stride, std::int64_t count,
                  const double* shifts, double* totals) {
  constexpr int kMost = kIsHalf<S> ? 8 : 4, kSome = 2;
  std::int64_t row = 0;
  for (; row + kMost <= rows; row += kMost) {
    fold_rows_together<kMost, F>(x + row * stride, stride, count, shifts, totals);
  }
  for (; row + kSome <= rows; row += kSome) {
    fold_rows_together<kSome, F>(x + row * stride, stride, count, shifts, totals);
  }
  for (; row < rows; ++row) {
    fold_rows_together<1, F>(x + row * stride, stride, count, shifts, totals);
  }
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
