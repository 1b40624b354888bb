// Functions of Real without branches, for the compiler to vectorise. Errors of a few units in the
// last place; tests/backends_cpu/real_math_test.cpp measures them.
//
// Polynomials marked "Cephes" are those of S. L. Moshier's Cephes library, single precision (1989).
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/real.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

inline constexpr Real kInfinity(__builtin_inff()), kNaN(__builtin_nanf(""));

// Continues Horner's scheme in z with every other coefficient.
inline Real every_other(Real /*z*/, Real sum) { return sum; }
inline Real every_other(Real /*z*/, Real sum, float /*skipped*/) { return sum; }
template <class... Rest>
Real every_other(Real z, Real sum, float /*skipped*/, float next, Rest... rest) {
  return every_other(z, fused(sum, z, Real(next)), rest...);
}

// Evaluates a polynomial, coefficients from the highest power down: even and odd powers apart, two
// chains of dependent operations that are half as long as one.
template <class... Rest>
Real polynomial(Real x, float highest, float next, Rest... rest) {
  const Real z = x * x;
  const Real with_highest = every_other(z, Real(highest), next, rest...);
  const Real without = every_other(z, Real(next), rest...);
  constexpr bool kHighestIsEven = sizeof...(rest) % 2 == 1;
  if constexpr (kHighestIsEven) {
    return fused(without, x, with_highest);
  } else {
    return fused(with_highest, x, without);
  }
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
               polynomial(r, 1.9875691500E-4F, 1.3981999507E-3F, 8.3334519073E-3F, 4.1665795894E-2F,
                          1.6666665459E-1F, 5.0000001201E-1F),
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
  const Real scale = real_of_bits(static_cast<std::int32_t>(half));
  return fused(expm1_near_0(rest), scale, scale) * real_of_bits(static_cast<std::int32_t>(other));
}

// expm1 for -18 <= x <= 89, where it becomes -1 and infinity.
inline Real expm1_within(Real x) {
  const auto [encoded, rest] = split_exponent<127 - 1>(x);
  // 2^power * expm1(rest) + 2^power - 1, halved so that 2^power cannot overflow.
  const Real scale = real_of_bits(static_cast<std::int32_t>(encoded << 23));
  const Real half = fused(scale, expm1_near_0(rest), scale - Real(0.5F));
  return half + half;
}

inline Real expm1(Real x) {
  return choose(x == Real(0), x, expm1_within(clamp(x, Real(-18), Real(89))));
}

inline Real tanh(Real x) {
  const Real argument = Real(-2) * fabs(x);
  const Real less_one = expm1_within(choose(argument < Real(-18), Real(-18), argument));
  return copysign(less_one / (less_one + Real(2)), x);
}

// x = 2^power * fraction, sqrt(1/2) <= fraction < sqrt(2), for finite x > 0.
struct FractionSplit {
  std::int32_t power;
  Real fraction;
};

inline FractionSplit split_fraction(Real x) {
  constexpr std::uint32_t kSqrtHalfBits = 0x3F3504F3;
  const bool subnormal = x < Real(0x1p-126F);
  const auto bits = static_cast<std::uint32_t>(bits_of(choose(subnormal, x * Real(0x1p23F), x)));
  const std::int32_t power = static_cast<std::int32_t>(bits - kSqrtHalfBits) >> 23;
  const std::uint32_t fraction = bits - (static_cast<std::uint32_t>(power) << 23);
  return {power - (subnormal ? 23 : 0), real_of_bits(static_cast<std::int32_t>(fraction))};
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

// -expm1(log(erfc(|x|))), with the polynomial of scripts/fit_erf for the logarithm.
inline Real erf(Real x) {
  const Real size = fabs(x), t = choose(size > Real(4), Real(4), size);  // erf(4) rounds to 1
  const Real log_erfc = fused(polynomial(t, 9.256733223e-6F, -1.176452365e-4F, 6.328501986e-4F,
                                         -1.667050312e-3F, 1.604172445e-4F, 1.915305349e-2F,
                                         -1.027778281e-1F, -6.366193822e-1F, -1.283791716e-1F),
                              t, -t);
  return copysign(expm1_within(log_erfc), x);
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
