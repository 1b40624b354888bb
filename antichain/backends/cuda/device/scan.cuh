// Running sums of the threads of a block.
#pragma once

#include "antichain/ops/elementwise/elementwise_functors.h"

namespace antichain::device {

// Which elements of a line a thread of its block takes: those from `begin` to `end`.
struct Chunk {
  long long begin, end;
  Chunk(long long size) {
    const long long each = (size + blockDim.x - 1) / blockDim.x;
    begin = min(size, each * threadIdx.x);
    end = min(size, begin + each);
  }
};

// Returns the sum of what the threads in front of this one have, added up in an order that the
// number of threads decides. `shared` has an element for each of them.
template <class T>
T sum_before(T own, T* shared) {
  const unsigned t = threadIdx.x;
  shared[t] = own;
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    __syncthreads();
    const T more = t >= step ? shared[t - step] : T(0);
    __syncthreads();
    shared[t] = functors::Add()(more, shared[t]);
  }
  __syncthreads();
  const T before = t > 0 ? shared[t - 1] : T(0);
  __syncthreads();
  return before;
}

}  // namespace antichain::device
