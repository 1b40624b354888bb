// Elements as unsigned numbers in the order that they are sorted in.
#pragma once

#include "antichain/backends/cuda/device/element.cuh"

namespace antichain::device {

template <class S>
__device__ unsigned long long bits_of(S element) {
  if constexpr (sizeof(S) == 8) {
    return std::bit_cast<unsigned long long>(element);
  } else {
    return std::bit_cast<Word<S, 1>>(element);
  }
}

// Of as many bits as the element has. NaN is behind everything else, and zeros are equal.
template <class S>
__device__ unsigned long long sort_key(S element, bool descending) {
  constexpr unsigned long long kSign = 1ULL << (8 * sizeof(S) - 1), kAll = kSign | (kSign - 1);
  const Compute<S> value = load<S>(element);
  if (value != value) {
    return kAll;
  }
  unsigned long long key = bits_of(element);
  if constexpr (std::is_floating_point_v<Compute<S>>) {
    key = value == 0 ? 0 : key;
    // Negative numbers are the smaller the larger their bits.
    key = (key & kSign) != 0 ? ~key & kAll : key | kSign;
  } else {
    key ^= S(-1) < S(0) ? kSign : 0;
  }
  return descending ? ~key & kAll : key;
}

}  // namespace antichain::device
