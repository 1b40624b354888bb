// Reductions: totals are double or 64 bits wide, so that nothing is lost before the end. Elements
// of smaller floats may be added up in float, a few at a time; the least and the largest of them
// need no more than their own type.
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
    if constexpr (std::is_same_v<T, float>) {
      float chosen;  // one instruction that does what the functor says
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(chosen) : "f"(a), "f"(b));
      return chosen;
    } else {
      return functors::Minimum()(a, b);
    }
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
    if constexpr (std::is_same_v<T, float>) {
      float chosen;  // one instruction that does what the functor says
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(chosen) : "f"(a), "f"(b));
      return chosen;
    } else {
      return functors::Maximum()(a, b);
    }
  }
};

// What a fold of values of type C is kept in: of a few elements of a thread, and of all. GPUs
// convert only a few floats to double at a time.
template <class Fold, class C>
struct FoldTypes {
  using Few = typename TotalOf<C>::Type;
  using All = Few;
};
template <>
struct FoldTypes<FoldSum, float> {
  using Few = float;
  using All = double;
};
template <>
struct FoldTypes<FoldMin, float> {
  using Few = float;
  using All = float;
};
template <>
struct FoldTypes<FoldMax, float> {
  using Few = float;
  using All = float;
};

constexpr int kLanes = 32;  // of a warp

// Joins the totals of `kCount` lanes side by side, a power of two; all lanes of the warp must come
// here. They get the bits of the first: the least of 0 and -0 depends on the order.
template <class Fold, int kCount, class T>
T join_lanes(T total) {
#pragma unroll
  for (int step = kCount / 2; step > 0; step /= 2) {
    total = Fold::join(total, __shfl_down_sync(~0U, total, step, kCount));
  }
  return kCount > 1 ? __shfl_sync(~0U, total, 0, kCount) : total;
}

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
