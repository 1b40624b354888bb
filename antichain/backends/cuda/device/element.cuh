// Elements as kernels of the GPU see them: how they lie in memory, what they are computed in, and
// conversions, which are those of antichain/tensor/dtype.h.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "antichain/ops/elementwise_functors.h"

namespace antichain::device {

struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};

// Small floats are computed in float, integers in 64 bits.
template <class S>
struct ComputeIn {
  using Type = long long;
};
template <>
struct ComputeIn<float> {
  using Type = float;
};
template <>
struct ComputeIn<bf16> {
  using Type = float;
};
template <>
struct ComputeIn<f16> {
  using Type = float;
};
template <>
struct ComputeIn<double> {
  using Type = double;
};
template <>
struct ComputeIn<bool> {
  using Type = bool;
};
template <class S>
using Compute = typename ComputeIn<S>::Type;

template <class S>
__device__ Compute<S> load(S element) {
  return Compute<S>(element);
}
template <>
__device__ inline float load(bf16 element) {
  return __uint_as_float(unsigned(element.bits) << 16);
}
template <>
__device__ inline float load(f16 element) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(element.bits));
  return value;
}

// The element that is nearest to a computed value; integers wrap.
template <class S>
__device__ S stored(Compute<S> value) {
  if constexpr (std::is_same_v<S, bf16>) {
    S element;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(element.bits) : "f"(value));
    return element;
  } else if constexpr (std::is_same_v<S, f16>) {
    S element;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(element.bits) : "f"(value));
    return element;
  } else {
    return S(value);
  }
}

// What a value is after it was stored as an S and read again.
template <class S>
__device__ Compute<S> rounded(Compute<S> value) {
  return load<S>(stored<S>(value));
}

template <class To, class From>
__device__ To saturated(From value) {
  constexpr bool kSigned = To(-1) < To(0);
  constexpr int kBits = 8 * sizeof(To) - (kSigned ? 1 : 0);
  constexpr To kMax = To((1ULL << kBits) - 1), kMin = kSigned ? To(-kMax - 1) : To(0);
  if (value != value) {
    return To(0);
  }
  if (value >= From(kMax)) {  // which may round up to a power of two that no longer fits
    return kMax;
  }
  return value <= From(kMin) ? kMin : To(value);
}

template <class To, class C>
__device__ Compute<To> cast_to(C value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != C(0);
  } else if constexpr (std::is_floating_point_v<C> && std::is_integral_v<To>) {
    return Compute<To>(saturated<To>(value));
  } else {
    return rounded<To>(Compute<To>(value));
  }
}

// Elements side by side that are read and written at once: a power of two of them, 16 bytes at
// most, or twice that by two instructions.
template <class S, int kCount>
struct Run {
  S at[kCount];
};
template <int kBytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type = unsigned char;
};
template <>
struct WordOf<2> {
  using Type = unsigned short;
};
template <>
struct WordOf<4> {
  using Type = unsigned;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};
template <>
struct WordOf<32> {
  struct Type {
    uint4 low, high;
  };
};
template <class S, int kCount>
using Word = typename WordOf<sizeof(S) * kCount>::Type;

// The run at `place`, a multiple of its length.
template <class S, int kCount>
__device__ Run<S, kCount> load_run(const void* from, long long place) {
  return std::bit_cast<Run<S, kCount>>(((const Word<S, kCount>*)from)[place / kCount]);
}
template <class S, int kCount>
__device__ void store_run(void* to, long long place, const Run<S, kCount>& run) {
  ((Word<S, kCount>*)to)[place / kCount] = std::bit_cast<Word<S, kCount>>(run);
}

// A NaN stays.
template <class T>
__device__ T clipped(T value, T low, T high) {
  const T cut = value > high ? high : value;
  return cut < low ? low : cut;
}

}  // namespace antichain::device
