// Folding a row of packed floats into one number.
#pragma once

#include "antichain/backends/cpu/simd/fold.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

template <class F>
Vector<double> starts(double total) {
  if constexpr (HasStart<F>) {
    total = F::kStart;
  }
  return Vector<double>{} + total;
}

// A few elements, or what is left of more. Not inlined, which would slow down the loops before it.
template <class F, class S>
[[gnu::noinline]] double fold_few(const S* x, std::int64_t count, double shift, double total) {
  constexpr int kWidth = kLanes<double>;
  if constexpr (kIsHalf<S>) {
    float wide[2 * kFloats];
    widen(x, wide, count);
    return fold_few<F>(static_cast<const float*>(wide), count, shift, total);
  } else {
    std::int64_t i = 0;
    if (count >= kWidth) {
      Vector<double> totals = starts<F>(total);
      for (; i + kWidth <= count; i += kWidth) {
        totals = F::fold(totals, load_vector<double>(x + i), Vector<double>{} + shift);
      }
      total = F::join(total, join_lanes<F, double>(totals));
    }
    for (; i < count; ++i) {
      total = F::fold(total, static_cast<double>(x[i]), shift);
    }
    return total;
  }
}

// In lanes of double. Eight vectors of totals: additions wait for each other, so several are under
// way at once.
template <class F, class W>
double fold_row_in_doubles(const W* x, std::int64_t count, double shift, double total) {
  constexpr int kTotals = 8, kWidth = kLanes<double>;
  std::int64_t i = 0;
  if (count >= kTotals * kWidth) {
    const Vector<double> shifts = Vector<double>{} + shift;
    Vector<double> totals[kTotals];
    for (Vector<double>& each : totals) {
      each = starts<F>(total);
    }
    for (; i + kTotals * kWidth <= count; i += kTotals * kWidth) {
#pragma GCC unroll 8
      for (int k = 0; k < kTotals; ++k) {
        totals[k] = F::fold(totals[k], load_vector<double>(x + i + k * kWidth), shifts);
      }
    }
    const Vector<double> joined =
        F::join(F::join(F::join(totals[0], totals[1]), F::join(totals[2], totals[3])),
                F::join(F::join(totals[4], totals[5]), F::join(totals[6], totals[7])));
    total = F::join(total, join_lanes<F, double>(joined));
  }
  return fold_few<F>(x + i, count - i, shift, total);
}

// The sum of terms: a few are added as floats, everything else as double.
template <class F, class S>
double sum_row(const S* x, std::int64_t count, double shift, double total) {
  constexpr int kStep = 2 * kFloats, kTwos = kFloatTerms<S> / 2;
  const Vector<float> shifts = Vector<float>{} + static_cast<float>(shift);
  const auto terms = [&](const S* from) {
    const Two value = load_two(from);
    return F::term(value.a, shifts) + F::term(value.b, shifts);
  };
  std::int64_t i = 0;
  if (count >= kStep) {
    Vector<double> first = {}, last = {};
    const auto add = [&](Vector<float> some) {
      const Halves wide = halves(some);
      first += wide.first;
      last += wide.last;
    };
    for (; i + kTwos * kStep <= count; i += kTwos * kStep) {
      Vector<float> some[kTwos];
#pragma GCC unroll 8
      for (int k = 0; k < kTwos; ++k) {
        some[k] = terms(x + i + k * kStep);
      }
#pragma GCC unroll 4
      for (int width = kTwos / 2; width > 0; width /= 2) {
#pragma GCC unroll 4
        for (int k = 0; k < width; ++k) {
          some[k] += some[k + width];
        }
      }
      add(some[0]);
    }
    if (i + kStep <= count) {
      Vector<float> some = terms(x + i);
      for (i += kStep; i + kStep <= count; i += kStep) {
        some += terms(x + i);
      }
      add(some);
    }
    total += join_lanes<Sum, double>(first + last);
  }
  return i < count ? fold_few<F>(x + i, count - i, shift, total) : total;
}

// The largest or smallest: numbers are compared as if there were no NaN, and NaN is looked for.
template <class F, class S>
double extreme_of_row(const S* x, std::int64_t count, double total) {
  constexpr int kStep = 2 * kFloats;
  std::int64_t i = 0;
  if (count >= kStep) {
    const Vector<float> start = Vector<float>{} + static_cast<float>(total);
    Vector<float> t0 = start, t1 = start, t2 = start, t3 = start;
    LaneMask m0 = kAllLanes, m1 = kAllLanes;
    for (; i + 2 * kStep <= count; i += 2 * kStep) {
      const Two x0 = load_two(x + i), x1 = load_two(x + i + kStep);
      t0 = F::fold_number(t0, x0.a);
      t1 = F::fold_number(t1, x0.b);
      t2 = F::fold_number(t2, x1.a);
      t3 = F::fold_number(t3, x1.b);
      m0 = without_nan(m0, x0.a, x0.b);
      m1 = without_nan(m1, x1.a, x1.b);
    }
    if (i + kStep <= count) {
      const Two last = load_two(x + i);
      t0 = F::fold_number(t0, last.a);
      t1 = F::fold_number(t1, last.b);
      m0 = without_nan(m0, last.a, last.b);
      i += kStep;
    }
    const Vector<float> first = F::fold_number(t0, t1), second = F::fold_number(t2, t3);
    const Vector<float> joined = F::join(nan_outside(m0, first), nan_outside(m1, second));
    total = F::join(total, static_cast<double>(join_lanes<F, float>(joined)));
  }
  return i < count ? fold_few<F>(x + i, count - i, 0, total) : total;
}

// The bits of a bfloat16 as an integer of the same order, and back. Of zeros the negative one is
// the smaller; a NaN lies beyond the infinity of its sign.
template <class Bits>
Bits ordered(Bits bits) {
  return bits ^ ((bits >> 15) & 0x7FFF);
}

// The same for bfloat16, all in integers: twice as many lanes, and nothing to widen.
template <class F>
double extreme_of_row(const bfloat16* x, std::int64_t count, double total) {
  constexpr int kStep = kLanes<std::int16_t>;
  constexpr std::int16_t kInfinityBits = 0x7F80;
  const auto load = [x](std::int64_t i) {
    Vector<std::int16_t> bits;
    __builtin_memcpy(&bits, x + i, sizeof(bits));
    return ordered(bits);
  };
  std::int64_t i = 0;
  if (count >= kStep) {
    Vector<std::int16_t> most = load(0), least = most, more = most, less = most;
    for (; i + 2 * kStep <= count; i += 2 * kStep) {
      const Vector<std::int16_t> a = load(i), b = load(i + kStep);
      most = a > most ? a : most;
      least = a < least ? a : least;
      more = b > more ? b : more;
      less = b < less ? b : less;
    }
    if (i + kStep <= count) {
      const Vector<std::int16_t> a = load(i);
      most = a > most ? a : most;
      least = a < least ? a : least;
      i += kStep;
    }
    const std::int16_t highest = join_lanes<Extreme<true>, std::int16_t>(most > more ? most : more);
    const std::int16_t lowest =
        join_lanes<Extreme<false>, std::int16_t>(least < less ? least : less);
    const bool has_nan = highest > kInfinityBits || lowest < ~kInfinityBits;
    const int bits = ordered<int>(F::join(lowest, highest));
    const Real value =
        has_nan ? kNaN
                : real_of_bits(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits) << 16));
    total = F::join(total, static_cast<double>(value.value));
  }
  return i < count ? fold_few<F>(x + i, count - i, 0, total) : total;
}

template <class F, class S>
double fold_row(const S* x, std::int64_t count, double shift, double total) {
  if constexpr (!kInFloats<F, S>) {
    return fold_row_in_doubles<F>(x, count, shift, total);
  } else if constexpr (HasStart<F>) {
    return sum_row<F>(x, count, shift, total);
  } else {
    return extreme_of_row<F>(x, count, total);
  }
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
