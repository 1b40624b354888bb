// Positions of the best elements: the first of equal ones, the first NaN if there is one.
#pragma once

#include "antichain/backends/cuda/device/fold.cuh"

namespace antichain::device {

template <class C>
struct Candidate {
  C value;
  long long at;  // below 0 for none
};

template <bool kLargest>
struct FoldChoice {
  template <class C>
  static bool is_better(C a, C b) {
    const bool a_is_nan = a != a, b_is_nan = b != b;
    if (a_is_nan || b_is_nan) {
      return a_is_nan && !b_is_nan;
    }
    return kLargest ? a > b : a < b;
  }
  template <class C>
  static Candidate<C> join(Candidate<C> a, Candidate<C> b) {
    if (a.at < 0 || b.at < 0) {
      return a.at < 0 ? b : a;
    }
    if (is_better(a.value, b.value)) {
      return a;
    }
    return is_better(b.value, a.value) || b.at < a.at ? b : a;
  }
};

}  // namespace antichain::device
