// Elements as kernels of the GPU see them: how they lie in memory, what they are computed in, and
// conversions, which are those of antichain/tensor/dtype.h.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "antichain/backends/cuda/device/division.cuh"
#include "antichain/backends/cuda/device/word.cuh"
#include "antichain/ops/elementwise/elementwise_functors.h"

namespace antichain::device {

// An axis of a packed value.
struct PackedAxis {
  long long size, stride;
  // Where an element lies along it.
  long long position(long long element) const { return element / stride % size; }
};

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

// The element that a value is which was rounded before.
template <class S>
__device__ S packed(Compute<S> value) {
  if constexpr (std::is_same_v<S, bf16>) {
    return {(unsigned short)(__float_as_uint(value) >> 16)};
  } else {
    return stored<S>(value);
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

// The quotient of two bf16, to be rounded to one. It differs by 2 units of a float at most from the
// exact one, which is never so near to the middle between two bf16, unless those are denormal, that
// this would matter: if m is such a middle, of 9 bits, then a - m * b is a whole number of units of
// a product of 17 bits, and not 0.
inline __device__ float near_quotient(float a, float b) {
  float quotient;
  asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
  return quotient;
}

// Elements side by side that are read and written at once: a power of two of them, 16 bytes at
// most, or twice that by two instructions.
template <class S, int kCount>
struct Run {
  S at[kCount];
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
