// Functions of Real whose intermediate values need more than a float's precision: they are computed
// in double, still without branches.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/real_math.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

// Added to a small number, it leaves the nearest integer.
inline constexpr double kWideRounder = 6755399441055744.0;  // 1.5 * 2^52

// Rounds to the nearest integer, for |x| < 2^51.
inline double nearest(double x) { return (x + kWideRounder) - kWideRounder; }

// Larger angles than this lose too much in the reduction below; their loops ask libm.
inline constexpr Real kLargestAngle(1e6F);

// sin(x) for quadrant 0, cos(x) for quadrant 1, |x| <= kLargestAngle.
inline Real sin_from(Real x, std::int32_t quadrant) {
  // pi / 2 in two parts, the first with 33 bits (fdlibm): products with up to 2^20 are exact.
  constexpr double kHalfPiHigh = 1.57079632673412561417e+00,
                   kHalfPiLow = 6.07710050650619224932e-11;
  constexpr double kTwoOverPi = 6.36619772367581382433e-01;
  const bool usable = fabs(x) <= kLargestAngle;
  const double angle = usable ? x.value : 0.0F;
  const double turns = nearest(angle * kTwoOverPi);
  const Real r((angle - turns * kHalfPiHigh) - turns * kHalfPiLow);
  quadrant += static_cast<std::int32_t>(turns);
  const Real z = r * r;
  const Real sine =  // Cephes sinf
      fused(z * r, polynomial(z, -1.9515295891E-4F, 8.3321608736E-3F, -1.6666654611E-1F), r);
  const Real cosine =  // Cephes cosf
      fused(z * z,
            polynomial(z, 2.443315711809948E-5F, -1.388731625493765E-3F, 4.166664568298827E-2F),
            fused(Real(-0.5F), z, Real(1)));
  const Real result = choose((quadrant & 1) != 0, cosine, sine);
  return choose((quadrant & 2) != 0, -result, result);
}

inline Real sin(Real x) { return choose(x == Real(0), x, sin_from(x, 0)); }
inline Real cos(Real x) { return sin_from(x, 1); }

// log2(x) for finite x > 0, by the series of atanh.
inline double wide_log2(Real x) {
  constexpr double kTwoLog2E = 2.88539008177792681472;
  const auto [power, fraction] = split_fraction(x);
  const double f = fraction.value;
  const double s = (f - 1) / (f + 1), z = s * s;
  double sum = 1.0 / 15;
  for (int term = 13; term >= 1; term -= 2) {
    sum = sum * z + 1.0 / term;
  }
  return power + kTwoLog2E * s * sum;
}

// 2 to the power of x, |x| <= 1000, by Taylor's series.
inline double wide_exp2(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  const double whole = nearest(x);
  const double r = (x - whole) * kLn2;
  double sum = 1;
  for (int term = 9; term >= 1; --term) {
    sum = 1 + sum * (r * (1.0 / term));
  }
  const auto bits = (static_cast<std::int64_t>(static_cast<std::int32_t>(whole)) + 1023) << 52;
  return sum * __builtin_bit_cast(double, bits);
}

inline Real pow(Real base, Real exponent) {
  const Real size = fabs(base), times = fabs(exponent);
  double log = wide_log2(size);
  log = size == Real(0) ? -__builtin_inf() : log;
  log = size == kInfinity ? __builtin_inf() : log;
  double product = exponent.value * log;
  product = product < -200 ? -200 : product;  // far below the smallest float, far above the largest
  product = product > 200 ? 200 : product;
  const bool undefined = product != product || size != size;
  const Real result(wide_exp2(undefined ? 0 : product));

  const bool whole = times >= Real(0x1p23F) || (times + kRounder) - kRounder == times;
  const bool odd =
      whole && times < Real(0x1p24F) &&
      (static_cast<std::int32_t>(choose(times < Real(0x1p24F), times, Real(0)).value) & 1) != 0;
  const bool no_root = base < Real(0) && size < kInfinity && !whole;
  Real signed_result = choose(bits_of(base) < 0 && odd, -result, result);
  signed_result = choose(undefined || no_root, kNaN, signed_result);
  // 1 to any power, any number to the power of 0; and (-1) to an infinite power.
  const bool one =
      base == Real(1) || exponent == Real(0) || (size == Real(1) && times == kInfinity);
  return choose(one, Real(1), signed_result);
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
