// Functions of Real without branches, for the compiler to vectorise. Errors of a few units in the
// last place; tests/backends_cpu/real_math_test.cpp measures them.
//
// Polynomials marked "Cephes" are those of S. L. Moshier's Cephes library, single precision (1989).
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/real.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

inline constexpr Real kInfinity(__builtin_inff()), kNaN(__builtin_nanf(""));

// Evaluates a polynomial, coefficients from the highest power down.
template <class... Rest>
Real polynomial(Real x, float highest, Rest... rest) {
  Real sum(highest);
  ((sum = fused(sum, x, Real(rest))), ...);
  return sum;
}

inline constexpr Real kLog2E(1.44269504088896341F);
// log(2) in two parts; the first has so few bits that its products with exponents are exact.
inline constexpr Real kLn2High(0.693359375F), kLn2Low(-2.12194440e-4F);
// Added to a small number, it leaves the nearest integer in the last bits.
inline constexpr Real kRounder(12582912.0F);  // 1.5 * 2^23

// x = power * log(2) + rest, |rest| <= log(2) / 2. The last nine bits of `encoded` are power +
// kBias, so that shifting them to the front makes the exponent of a float.
struct ExponentSplit {
  std::uint32_t encoded;
  Real rest;
};

template <int kBias>
ExponentSplit split_exponent(Real x) {
  constexpr Real kShift = kRounder + Real(kBias);
  const Real shifted = fused(x, kLog2E, kShift);
  const Real power = shifted - kShift;
  const Real rest = fused(power, -kLn2Low, fused(power, -kLn2High, x));
  return {static_cast<std::uint32_t>(bits_of(shifted)), rest};
}

// exp(r) - 1, |r| <= log(2) / 2. Cephes expf.
inline Real expm1_near_0(Real r) {
  return fused(r * r,
               polynomial(r, 1.9875691500E-4F, 1.3981999507E-3F, 8.3334519073E-3F,
                          4.1665795894E-2F, 1.6666665459E-1F, 5.0000001201E-1F),
               r);
}

inline Real clamp(Real x, Real low, Real high) {
  return choose(x < low, low, choose(x > high, high, x));  // a NaN stays
}

inline Real exp(Real x) {
  // Beyond these, results are 0 and infinity. 2^power is a product of two floats, as it may lie
  // beyond the normal numbers: each has an exponent of its own, biased by 127.
  const auto [encoded, rest] = split_exponent<2 * 127>(clamp(x, Real(-104), Real(89)));
  const std::uint32_t half = encoded >> 1 << 23, other = (encoded << 23) - half;
  return (Real(1) + expm1_near_0(rest)) * real_of_bits(static_cast<std::int32_t>(half)) *
         real_of_bits(static_cast<std::int32_t>(other));
}

inline Real expm1(Real x) {
  const auto [encoded, rest] = split_exponent<127 - 1>(clamp(x, Real(-18), Real(89)));
  // 2^power * expm1(rest) + 2^power - 1, halved so that 2^power cannot overflow.
  const Real scale = real_of_bits(static_cast<std::int32_t>(encoded << 23));
  const Real half = fused(scale, expm1_near_0(rest), scale - Real(0.5F));
  return choose(x == Real(0), x, half + half);
}

inline Real tanh(Real x) {
  const Real less_one = expm1(Real(-2) * fabs(x));
  return copysign(less_one / (less_one + Real(2)), x);
}

// x = 2^power * fraction, sqrt(1/2) <= fraction < sqrt(2), for finite x > 0.
struct FractionSplit {
  std::int32_t power;
  Real fraction;
};

inline FractionSplit split_fraction(Real x) {
  constexpr std::int32_t kSqrtHalfBits = 0x3F3504F3;
  const bool subnormal = x < Real(0x1p-126F);
  const std::int32_t bits = bits_of(choose(subnormal, x * Real(0x1p23F), x));
  const std::int32_t power = (bits - kSqrtHalfBits) >> 23;
  return {power - (subnormal ? 23 : 0), real_of_bits(bits - (power << 23))};
}

inline Real log(Real x) {
  const auto [power, fraction] = split_fraction(x);
  const Real f = fraction - Real(1), square = f * f, e(power);
  const Real beyond_quadratic =  // Cephes logf
      f * square *
      polynomial(f, 7.0376836292E-2F, -1.1514610310E-1F, 1.1676998740E-1F, -1.2420140846E-1F,
                 1.4249322787E-1F, -1.6668057665E-1F, 2.0000714765E-1F, -2.4999993993E-1F,
                 3.3333331174E-1F);
  const Real tail = fused(Real(-0.5F), square, fused(e, kLn2Low, beyond_quadratic));
  const Real result = fused(e, kLn2High, f + tail);
  const Real of_edge = choose(x == Real(0), -kInfinity, choose(x > Real(0), x, kNaN));
  return choose(x > Real(0) && x < kInfinity, result, of_edge);
}

inline Real log1p(Real x) {
  const Real rounded = x + Real(1);
  // What rounding lost, to first order; 0 or infinity have lost nothing.
  const Real lost = (x - (rounded - Real(1))) / rounded;
  const bool has_lost = rounded > Real(0) && rounded < kInfinity;
  return choose(x == Real(0), x, log(rounded) + choose(has_lost, lost, Real(0)));
}

// N. Juffa's erff: one polynomial around 0, and exp of another beyond.
inline Real erf(Real x) {
  const Real t = fabs(x), square = x * x;
  const Real inner = polynomial(square, -5.96761703e-4F, 4.99119423e-3F, -2.67681349e-2F,
                                1.12819925e-1F, -3.76125336e-1F, 1.28379166e-1F);
  const Real high = polynomial(t, -1.72853470e-5F, 3.83197126e-4F);
  const Real low = polynomial(t, -3.88396438e-3F, 2.42546219e-2F);
  Real power = fused(high, square, low);
  power = fused(power, t, Real(-1.06777877e-1F));
  power = fused(power, t, Real(-6.34846687e-1F));
  power = fused(power, t, Real(-1.28717512e-1F));
  power = fused(power, t, -t);
  // erf(4) is 1 in single precision; the polynomial is good up to there.
  const Real outer = choose(t > Real(4), Real(1), Real(1) - exp(power));
  return choose(t > Real(475.0F / 512), copysign(outer, x), fused(inner, x, x));
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
