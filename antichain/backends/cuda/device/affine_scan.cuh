// What the kernels of affine scans share (docs/design/scan.md): chunks of steps, and products of
// steps as numbers with powers of two beside them, since no float has the range of a long product.
//
// Copies to shared memory are those of tensor_core.cuh, which is included before, or of a test.
#pragma once

#include "antichain/backends/cuda/device/affine_sizes.cuh"

namespace antichain::device {

template <class T>
struct alignas(16) Piece {
  T at[16 / sizeof(T)];
};

// How the steps of a scan are cut.
struct Chunks {
  long long steps, places, reverse, chunk, chunks;

  // Where the values of a step are, of those in the order of the walk.
  long long position(long long step, long long place) const {
    return (reverse ? steps - 1 - step : step) * places + place;
  }
  // How many steps a chunk has.
  long long count(long long which) const {
    const long long left = steps - which * chunk;
    return left < chunk ? left : chunk;
  }
};

// After how many steps a product gives up its powers of two: its numbers, at most 2 before, stay in
// range unless steps grow by more than 2^30 each.
constexpr int kStepsPerRescale = 4;

// The largest power of two that can be taken out, since its inverse must be a normal number.
template <class T>
constexpr int kLargestExponent = sizeof(T) == 4 ? 126 : 1022;

// Returns e with 2^e <= |x| < 2^(e + 1); 0 for what has none, such as 0 and infinity.
inline int exponent_of(float x) {
  const int field = int(std::bit_cast<unsigned>(x) >> 23) & 0xff;
  return field == 0 || field == 0xff ? 0 : field - 127;
}
inline int exponent_of(double x) {
  const int field = int(std::bit_cast<unsigned long long>(x) >> 52) & 0x7ff;
  return field == 0 || field == 0x7ff ? 0 : field - 1023;
}
// Returns which power of two to take out of numbers up to `largest`.
template <class T>
int exponent_to_take(T largest) {
  const int exponent = exponent_of(largest);
  return exponent > kLargestExponent<T> ? kLargestExponent<T> : exponent;
}
template <class T>
T power_of_two(int exponent) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<float>(unsigned(exponent + 127) << 23);
  } else {
    return std::bit_cast<double>((unsigned long long)(exponent + 1023) << 52);
  }
}

template <class T>
void copy_number(T* to, const T* from) {
  if constexpr (sizeof(T) == 4) {
    copy_4_bytes(to, from, true);
  } else {
    copy_8_bytes(to, from, true);
  }
}

}  // namespace antichain::device
