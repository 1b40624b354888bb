// Division of 32-bit indices by sizes that are known when a kernel is started.
#pragma once

namespace antichain::device {

// Multiplying by `factor`, adding and shifting divides every number below 2^31 by the size that
// reciprocal_of (strided_loop.h) was given: Granlund and Montgomery, 1994, figure 4.1.
struct Reciprocal {
  unsigned factor, shift;
};

inline __device__ unsigned quotient(unsigned index, long long, Reciprocal of_size) {
  return (__umulhi(index, of_size.factor) + index) >> of_size.shift;
}
inline __device__ long long quotient(long long index, long long size, Reciprocal) {
  return index / size;
}

}  // namespace antichain::device
