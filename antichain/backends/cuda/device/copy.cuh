// Copies between layouts: several of them by one kernel (strided_copy.h).
#pragma once

#include "antichain/backends/cuda/device/division.cuh"
#include "antichain/backends/cuda/device/word.cuh"

namespace antichain::device {

// Sizes and strides count units: as many bytes as are copied at once.
template <int kAxes>
struct CopyPart {
  long long first_block, count, unit_bytes;
  void* to;
  const void* from;
  long long sizes[kAxes];
  Reciprocal reciprocals[kAxes];
  long long to_strides[kAxes], from_strides[kAxes];
};

constexpr int kCopiesInFlight = 4;  // of a thread

// Every thread of the block copies `per_thread` units: all of them are read before any is written.
template <int kBytes, class Index, int kAxes>
__device__ void copy_units(const CopyPart<kAxes>& part, int per_thread) {
  using Unit = typename WordOf<kBytes>::Type;
  const Index block = Index(blockIdx.x - part.first_block) * Index(blockDim.x * per_thread);
  const Index count = Index(part.count);
  Unit units[kCopiesInFlight];
  long long places[kCopiesInFlight];
#pragma unroll
  for (int n = 0; n < kCopiesInFlight; ++n) {
    const Index i = block + Index(n * blockDim.x + threadIdx.x);
    places[n] = -1;
    if (n < per_thread && i < count) {
      Index rest = i;
      long long to = 0, from = 0;
#pragma unroll
      for (int axis = kAxes - 1; axis >= 0; --axis) {
        const Index above =
            axis == 0 ? Index(0) : quotient(rest, part.sizes[axis], part.reciprocals[axis]);
        const long long at = (long long)(rest - above * Index(part.sizes[axis]));
        to += at * part.to_strides[axis];
        from += at * part.from_strides[axis];
        rest = above;
      }
      units[n] = ((const Unit*)part.from)[from];
      places[n] = to;
    }
  }
#pragma unroll
  for (int n = 0; n < kCopiesInFlight; ++n) {
    if (places[n] >= 0) {
      ((Unit*)part.to)[places[n]] = units[n];
    }
  }
}

// Units have the bytes of an element or more.
template <int kElementBytes, class Index, int kAxes>
__device__ void copy_part(const CopyPart<kAxes>& part, int per_thread) {
  if constexpr (kElementBytes < 16) {
    if (part.unit_bytes > kElementBytes) {
      copy_part<2 * kElementBytes, Index>(part, per_thread);
      return;
    }
  }
  copy_units<kElementBytes, Index>(part, per_thread);
}

}  // namespace antichain::device
