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

// Joins the totals of the threads of a block that have the same threadIdx.x, along threadIdx.y, or
// of all of them where blockDim.y is 1. In an order that the sizes decide.
template <class Fold, class T>
T join_block(T total, T* shared) {
  const unsigned along = blockDim.y > 1 ? blockDim.y : blockDim.x;
  const unsigned own = blockDim.y > 1 ? threadIdx.y : threadIdx.x;
  const unsigned stride = blockDim.y > 1 ? blockDim.x : 1;
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
  shared[at] = total;
  for (unsigned half = along / 2; half > 0; half /= 2) {
    __syncthreads();
    if (own < half) {
      shared[at] = Fold::join(shared[at], shared[at + half * stride]);
    }
  }
  __syncthreads();
  total = shared[blockDim.y > 1 ? threadIdx.x : 0];
  __syncthreads();
  return total;
}

}  // namespace antichain::device
