// What folding does to a total, of numbers and of vectors alike.
#pragma once

#include <type_traits>

#include "antichain/backends/cpu/simd/float_lanes.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

struct Sum {
  static constexpr int kStart = 0;
  template <class T>
  static T term(T value, T) {
    return value;
  }
  template <class T>
  static T fold(T total, T value, T) {
    return total + value;
  }
  template <class T>
  static T join(T a, T b) {
    return a + b;
  }
};

struct Squares : Sum {
  template <class T>
  static T term(T value, T shift) {
    const T distance = value - shift;
    return distance * distance;
  }
  template <class T>
  static T fold(T total, T value, T shift) {
    return total + term(value, shift);
  }
};

struct Product {
  static constexpr int kStart = 1;
  template <class T>
  static T fold(T total, T value, T) {
    return total * value;
  }
  template <class T>
  static T join(T a, T b) {
    return a * b;
  }
};

// Starts from the total itself: folding it in twice changes nothing.
template <bool kLargest>
struct Extreme {
  template <class T>
  static T fold(T total, T value, T) {
    if constexpr (kLargest) {
      return ((value > total) | (value != value)) ? value : total;
    } else {
      return ((value < total) | (value != value)) ? value : total;
    }
  }
  // One instruction, for values that are no NaN; a total that is one stays.
  template <class T>
  static T fold_number(T total, T value) {
    if constexpr (kLargest) {
      return value > total ? value : total;
    } else {
      return value < total ? value : total;
    }
  }
  template <class T>
  static T join(T a, T b) {
    return fold(a, b, b);
  }
};

// Elements are replaced by their exponentials tile by tile, and the tiles are added up.
struct Exponentials : Sum {};

template <class F>
concept HasStart = requires {
  F::kStart;
};

// Elements that are folded in lanes of float. Sums of a few are float and the rest is double:
// converting every element would cost more than adding it. (Four elements near the largest float
// may so become infinite.) Squares of float need more than float.
template <class F, class S>
inline constexpr bool kInFloats = (std::is_same_v<S, float> ||
                                   kIsHalf<S>)&&(!HasStart<F> || std::is_same_v<F, Sum> ||
                                                 (std::is_same_v<F, Squares> && kIsHalf<S>));

// How many are added as float. A 16-bit float has so few bits that little is lost.
template <class S>
inline constexpr int kFloatTerms = kIsHalf<S> ? 16 : 4;

// Elements that are first made a tile of float or double.
template <class F, class S>
inline constexpr bool kInTiles = std::is_same_v<F, Exponentials> ||
                                 (kIsHalf<S> && !kInFloats<F, S>);

// Joins the lanes of a vector, first half with last half.
template <class F, class L>
L join_lanes(Vector<L> x) {
  constexpr int kWidth = kLanes<L>;
  L lanes[kWidth];
  __builtin_memcpy(lanes, &x, sizeof(lanes));
#pragma GCC unroll 4
  for (int width = kWidth / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] = F::join(lanes[lane], lanes[lane + width]);
    }
  }
  return lanes[0];
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
