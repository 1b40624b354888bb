// How elements of each type are read, computed with and written.
#pragma once

#include <cstdint>
#include <type_traits>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/backends/cpu/simd/real.h"
#include "antichain/tensor/dtype.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

// The type that an element is computed with. Small integers are computed as int32 and wrap when
// they are written.
template <class S>
using Computed = std::conditional_t<
    std::is_same_v<S, float> || std::is_same_v<S, bfloat16>, Real,
    std::conditional_t<(std::is_integral_v<S> && sizeof(S) < 4), std::int32_t, S>>;

template <class S>
Computed<S> read(S element) {
  if constexpr (std::is_same_v<S, bfloat16>) {
    return real_of_bits(static_cast<std::int32_t>(element.bits) << 16);
  } else {
    return Computed<S>(element);
  }
}

// Rounds to nearest even; the upper half of the word is then the bfloat16. Right for a NaN that was
// one or comes from arithmetic: its upper half alone makes it one. `kExact`: the value needs no
// rounding.
template <bool kExact = false>
std::uint32_t rounded_word(Real x) {
  const auto word = __builtin_bit_cast(std::uint32_t, x.value);
  return kExact ? word : word + 0x7FFF + ((word >> 16) & 1);
}

template <bool kExact = false>
bfloat16 round_to_bfloat16(Real x) {
  bfloat16 result;
  result.bits = static_cast<std::uint16_t>(rounded_word<kExact>(x) >> 16);
  return result;
}

// Rounds any float; a NaN stays a quiet NaN.
inline bfloat16 to_bfloat16(Real x) {
  bfloat16 result = round_to_bfloat16(x);
  const std::int32_t quiet = (bits_of(x) >> 16) | 0x40;
  result.bits = x != x ? static_cast<std::uint16_t>(quiet) : result.bits;
  return result;
}

template <class S, bool kExact = false, class T>
S write(T value) {
  if constexpr (std::is_same_v<S, bfloat16>) {
    return round_to_bfloat16<kExact>(value);
  } else if constexpr (std::is_same_v<S, float>) {
    return value.value;
  } else {
    return static_cast<S>(value);
  }
}

inline constexpr int kTile = 256;  // elements: a few such pieces stay in the L1 cache

// f16 is converted a piece at a time, by the instructions that exist for it.

inline void widen(const float16* in, float* out, std::int64_t count) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(packed));
  }
#endif
  for (; i < count; ++i) {
    out[i] = static_cast<float>(in[i]);
  }
}

inline void narrow(const float* in, float16* out, std::int64_t count) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    const __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), packed);
  }
#endif
  for (; i < count; ++i) {
    out[i] = float16(in[i]);
  }
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
