// Real: a float of the level's own type, so that the functors of antichain/ops find the level's
// functions of it by argument-dependent lookup.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/level.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

struct Real {
  float value;

  Real() = default;
  template <class Number>
  constexpr explicit Real(Number number) : value(static_cast<float>(number)) {}

  friend constexpr Real operator+(Real a, Real b) { return Real(a.value + b.value); }
  friend constexpr Real operator-(Real a, Real b) { return Real(a.value - b.value); }
  friend constexpr Real operator*(Real a, Real b) { return Real(a.value * b.value); }
  friend constexpr Real operator/(Real a, Real b) { return Real(a.value / b.value); }
  friend constexpr Real operator-(Real x) { return Real(-x.value); }
  friend constexpr bool operator==(Real a, Real b) { return a.value == b.value; }
  friend constexpr bool operator!=(Real a, Real b) { return a.value != b.value; }
  friend constexpr bool operator<(Real a, Real b) { return a.value < b.value; }
  friend constexpr bool operator<=(Real a, Real b) { return a.value <= b.value; }
  friend constexpr bool operator>(Real a, Real b) { return a.value > b.value; }
  friend constexpr bool operator>=(Real a, Real b) { return a.value >= b.value; }
};

// Chooses between values, where `?:` on objects would choose between addresses.
constexpr Real choose(bool condition, Real yes, Real no) {
  return Real(condition ? yes.value : no.value);
}

constexpr double choose(bool condition, double yes, double no) { return condition ? yes : no; }

inline std::int32_t bits_of(Real x) { return __builtin_bit_cast(std::int32_t, x.value); }
inline Real real_of_bits(std::int32_t bits) { return Real(__builtin_bit_cast(float, bits)); }

// a * b + c, rounded once where the level has an instruction for it.
inline Real fused(Real a, Real b, Real c) {
#ifdef __FMA__
  return Real(__builtin_fmaf(a.value, b.value, c.value));
#else
  return a * b + c;
#endif
}

inline Real fabs(Real x) { return Real(__builtin_fabsf(x.value)); }
inline Real copysign(Real x, Real sign) { return Real(__builtin_copysignf(x.value, sign.value)); }
inline Real sqrt(Real x) { return Real(__builtin_sqrtf(x.value)); }
inline Real floor(Real x) { return Real(__builtin_floorf(x.value)); }
inline Real ceil(Real x) { return Real(__builtin_ceilf(x.value)); }
inline Real rint(Real x) { return Real(__builtin_rintf(x.value)); }
inline Real fmod(Real a, Real b) { return Real(__builtin_fmodf(a.value, b.value)); }

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
