// Vectors of doubles as wide as the level's registers, and how elements become such.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/element.h"
#include "antichain/backends/cpu/simd/real_math.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
inline constexpr int kDoubles = kVectorBytes / static_cast<int>(sizeof(double));

typedef double Doubles __attribute__((vector_size(kVectorBytes)));
typedef float Floats __attribute__((vector_size(kVectorBytes / 2)));  // as many as Doubles

inline Doubles load_doubles(const double* x) {
  Doubles result;
  __builtin_memcpy(&result, x, sizeof(result));
  return result;
}

inline Doubles load_doubles(const float* x) {
  Floats narrow;
  __builtin_memcpy(&narrow, x, sizeof(narrow));
  return __builtin_convertvector(narrow, Doubles);
}

// 16-bit floats are widened a tile at a time and then treated as float.
inline void widen(const bfloat16* in, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = read(in[i]).value;
  }
}

inline void widen(const float* in, float* out, std::int64_t count) {
  __builtin_memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
}
inline void widen(const double* in, double* out, std::int64_t count) {
  __builtin_memcpy(out, in, static_cast<std::size_t>(count) * sizeof(double));
}
inline void narrow(const float* in, bfloat16* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = round_to_bfloat16(Real(in[i]));
  }
}

// What tiles of such elements hold.
template <class S>
using Wide = std::conditional_t<std::is_same_v<S, double>, double, float>;

inline float exponential(float x) { return exp(Real(x)).value; }
inline double exponential(double x) { return __builtin_exp(x); }

template <class S>
inline constexpr bool kIsHalf = std::is_same_v<S, bfloat16> || std::is_same_v<S, float16>;

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
