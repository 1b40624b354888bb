// Vectors as wide as the level's registers, and how elements become such.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

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

// A vector of numbers of type T, and how one is read.
template <class T>
struct VectorOf;
template <>
struct VectorOf<double> {
  using Type [[gnu::vector_size(kVectorBytes)]] = double;
};
template <>
struct VectorOf<float> {
  using Type [[gnu::vector_size(kVectorBytes)]] = float;
};
template <>
struct VectorOf<std::uint32_t> {
  using Type [[gnu::vector_size(kVectorBytes)]] = std::uint32_t;
};
template <>
struct VectorOf<std::int16_t> {
  using Type [[gnu::vector_size(kVectorBytes)]] = std::int16_t;
};
template <class T>
using Vector = typename VectorOf<T>::Type;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline Vector<T> load_vector(const T* x) {
  Vector<T> result;
  __builtin_memcpy(&result, x, sizeof(result));
  return result;
}

// As many floats as a vector has of double.
using FloatHalf [[gnu::vector_size(kVectorBytes / 2)]] = float;

// GCC does not find the one instruction for it by itself.
inline Vector<double> to_double(FloatHalf x) {
#if defined(__AVX512F__)
  // Masked by nothing: the plain one reads a variable of its own before it is set, GCC warns.
  return _mm512_maskz_cvtps_pd(static_cast<__mmask8>(-1), x);
#elif defined(__AVX__)
  return _mm256_cvtps_pd(x);
#else
  return __builtin_convertvector(x, Vector<double>);
#endif
}

template <class T>
requires std::is_same_v<T, double>
inline Vector<double> load_vector(const float* x) {
  FloatHalf narrow;
  __builtin_memcpy(&narrow, x, sizeof(narrow));
  return to_double(narrow);
}

inline void store_vector(double* to, Vector<double> x) { __builtin_memcpy(to, &x, sizeof(x)); }
inline void store_vector(float* to, Vector<double> x) {
#if defined(__AVX512F__)
  _mm256_storeu_ps(to, _mm512_maskz_cvtpd_ps(static_cast<__mmask8>(-1), x));
#elif defined(__AVX__)
  _mm_storeu_ps(to, _mm256_cvtpd_ps(x));
#else
  const auto narrow = __builtin_convertvector(x, FloatHalf);
  __builtin_memcpy(to, &narrow, sizeof(narrow));
#endif
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
// Rounds to bfloat16 as round_to_bfloat16 does, or with kAnyNaN as to_bfloat16 does: the upper
// halves of two vectors of words become one vector.
template <bool kAnyNaN>
void round_floats(const float* in, bfloat16* out, std::int64_t count) {
  using Words = Vector<std::uint32_t>;
  using Shorts = Vector<std::int16_t>;
  const auto rounded = [](const float* from) {
    const Vector<float> value = load_vector<float>(from);
    const auto words = __builtin_bit_cast(Words, value);
    const Words result = words + 0x7FFF + ((words >> 16) & 1);
    if constexpr (kAnyNaN) {
      return __builtin_bit_cast(Shorts, value != value ? words | 0x400000 : result);
    } else {
      return __builtin_bit_cast(Shorts, result);
    }
  };
  std::int64_t i = 0;
  for (; i + 2 * kLanes<float> <= count; i += 2 * kLanes<float>) {
    const Shorts a = rounded(in + i), b = rounded(in + i + kLanes<float>);
    const Shorts upper = [=]<int... kLane>(std::integer_sequence<int, kLane...>) {
      return __builtin_shufflevector(a, b, (2 * kLane + 1)...);
    }
    (std::make_integer_sequence<int, kLanes<std::int16_t>>());
    __builtin_memcpy(static_cast<void*>(out + i), &upper, sizeof(upper));
  }
  for (; i < count; ++i) {
    out[i] = kAnyNaN ? to_bfloat16(Real(in[i])) : round_to_bfloat16(Real(in[i]));
  }
}

inline void narrow(const float* in, bfloat16* out, std::int64_t count) {
  round_floats<false>(in, out, count);
}

inline void narrow(const float* in, float* out, std::int64_t count) { widen(in, out, count); }
inline void narrow(const double* in, double* out, std::int64_t count) { widen(in, out, count); }

// What tiles of such elements hold.
template <class S>
using Wide = std::conditional_t<std::is_same_v<S, double>, double, float>;

inline float exponential(float x) { return exp(Real(x)).value; }
inline double exponential(double x) { return __builtin_exp(x); }

template <class S>
inline constexpr bool kIsHalf = std::is_same_v<S, bfloat16> || std::is_same_v<S, float16>;

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
