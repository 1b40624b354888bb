// Reductions: totals are double or 64 bits wide, so that nothing is lost before the end.
#pragma once

#include "antichain/backends/cuda/device/element.cuh"

namespace antichain::device {

template <class C>
struct TotalOf {
  using Type = double;
};
template <>
struct TotalOf<long long> {
  using Type = long long;
};
template <>
struct TotalOf<bool> {
  using Type = long long;
};
template <class S>
using Total = typename TotalOf<Compute<S>>::Type;

constexpr long long kMaxInteger = 0x7fffffffffffffffLL;

struct FoldSum {
  template <class T>
  static T none() {
    return T(0);
  }
  template <class T>
  static T join(T a, T b) {
    return functors::Add()(a, b);
  }
};
struct FoldProd {
  template <class T>
  static T none() {
    return T(1);
  }
  template <class T>
  static T join(T a, T b) {
    return functors::Multiply()(a, b);
  }
};
struct FoldMin {
  template <class T>
  static T none() {
    if constexpr (std::is_floating_point_v<T>) {
      return T(__longlong_as_double(0x7ff0000000000000LL));
    } else {
      return kMaxInteger;
    }
  }
  template <class T>
  static T join(T a, T b) {
    return functors::Minimum()(a, b);
  }
};
struct FoldMax {
  template <class T>
  static T none() {
    if constexpr (std::is_floating_point_v<T>) {
      return -T(__longlong_as_double(0x7ff0000000000000LL));
    } else {
      return -kMaxInteger - 1;
    }
  }
  template <class T>
  static T join(T a, T b) {
    return functors::Maximum()(a, b);
  }
};

// Joins the totals of `along` threads, a power of two, in an order that the sizes decide. Each
// stands `stride` threads behind the one before it; `own` is the place of this one among them.
template <class Fold, class T>
T join_threads(T total, T* shared, unsigned own, unsigned along, unsigned stride) {
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
  shared[at] = total;
  for (unsigned half = along / 2; half > 0; half /= 2) {
    __syncthreads();
    if (own < half) {
      shared[at] = Fold::join(shared[at], shared[at + half * stride]);
    }
  }
  __syncthreads();
  total = shared[at - own * stride];
  __syncthreads();
  return total;
}

// Joins the totals of the threads of a block that have the same threadIdx.x, along threadIdx.y, or
// of all of them where blockDim.y is 1.
template <class Fold, class T>
T join_block(T total, T* shared) {
  return blockDim.y > 1 ? join_threads<Fold>(total, shared, threadIdx.y, blockDim.y, blockDim.x)
                        : join_threads<Fold>(total, shared, threadIdx.x, blockDim.x, 1);
}

// Tells all threads of a block whether it is the last of `blocks` that come here: it then sees what
// the others have written before, if it reads past the nearest cache (__ldcg). The counter starts
// at 0 and ends at 0, so that the next launch finds it as this one did.
inline bool comes_last(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    last = atomicInc(counter, blocks - 1) == blocks - 1;
  }
  __syncthreads();
  __threadfence();
  return last;
}

}  // namespace antichain::device
