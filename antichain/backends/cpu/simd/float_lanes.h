// Elements of at most 32 bits in vectors of float, two vectors at a time, for folds.
#pragma once

#include <cstddef>
#include <utility>

#include "antichain/backends/cpu/simd/vector.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

inline constexpr int kFloats = kLanes<float>;

// As many elements as two vectors hold. Which of them are in `a` depends on their type: what is
// cheap to load. `in_order` sorts them.
struct Two {
  Vector<float> a, b;
};

inline Two load_two(const float* x) {
  return {load_vector<float>(x), load_vector<float>(x + kFloats)};
}

// The elements at even positions, and those at odd ones.
inline Two load_two(const bfloat16* x) {
  Vector<std::uint32_t> words;
  __builtin_memcpy(&words, x, sizeof(words));
  return {__builtin_bit_cast(Vector<float>, words << 16),
          __builtin_bit_cast(Vector<float>, words & 0xFFFF0000U)};
}

inline Two load_two(const float16* x) {
#if defined(__AVX512F__)
  const auto load = [](const float16* from) -> Vector<float> {
    const auto* packed = reinterpret_cast<const __m256i*>(from);
    return _mm512_maskz_cvtph_ps(static_cast<__mmask16>(-1), _mm256_loadu_si256(packed));
  };
  return {load(x), load(x + kFloats)};
#else
  float wide[2 * kFloats];
  widen(x, wide, 2 * kFloats);
  return load_two(wide);
#endif
}

template <class S>
Two in_order(Two x) {
  if constexpr (std::is_same_v<S, bfloat16>) {
    return [x]<int... kLane>(std::integer_sequence<int, kLane...>)->Two {
      return {__builtin_shufflevector(x.a, x.b, (kLane / 2 + kLane % 2 * kFloats)...),
              __builtin_shufflevector(x.a, x.b, ((kFloats + kLane) / 2 + kLane % 2 * kFloats)...)};
    }
    (std::make_integer_sequence<int, kFloats>());
  } else {
    return x;
  }
}

// Rounds doubles to float, in the order in which elements of type S are loaded.
template <class S>
Two round_two(const double* x) {
  float narrow[2 * kFloats];
  for (int i = 0; i < 2 * kFloats; ++i) {
    constexpr bool kAlternate = std::is_same_v<S, bfloat16>;
    narrow[kAlternate ? i / 2 + i % 2 * kFloats : i] = static_cast<float>(x[i]);
  }
  return load_two(narrow);
}

// The first and the last half of a vector, as double.
struct Halves {
  Vector<double> first, last;
};

inline Halves halves(Vector<float> x) {
  return [x]<int... kLane>(std::integer_sequence<int, kLane...>)->Halves {
    return {to_double(__builtin_shufflevector(x, x, kLane...)),
            to_double(__builtin_shufflevector(x, x, (kLane + kLanes<double>)...))};
  }
  (std::make_integer_sequence<int, kLanes<double>>());
}

// The lanes in which no NaN has been seen.
#if defined(__AVX512F__)
using LaneMask = __mmask16;
inline constexpr LaneMask kAllLanes = 0xFFFF;
#else
using LaneMask = Vector<std::uint32_t>;
inline constexpr LaneMask kAllLanes = ~LaneMask{};
#endif

// The lanes of the mask in which neither a nor b is NaN.
inline LaneMask without_nan(LaneMask mask, Vector<float> a, Vector<float> b) {
#if defined(__AVX512F__)
  return _mm512_mask_cmp_ps_mask(mask, a, b, _CMP_ORD_Q);
#elif defined(__AVX__)
  return mask & __builtin_bit_cast(LaneMask, _mm256_cmp_ps(a, b, _CMP_ORD_Q));
#else
  return mask & __builtin_bit_cast(LaneMask, (a == a) & (b == b));
#endif
}

// x, and NaN in the other lanes: all bits set are one.
inline Vector<float> nan_outside(LaneMask mask, Vector<float> x) {
#if defined(__AVX512F__)
  return _mm512_mask_mov_ps(Vector<float>{} + kNaN.value, mask, x);
#else
  return __builtin_bit_cast(Vector<float>, __builtin_bit_cast(LaneMask, x) | ~mask);
#endif
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
