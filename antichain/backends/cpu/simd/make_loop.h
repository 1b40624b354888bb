// From a functor to its loops, one per element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "antichain/backends/cpu/simd/by_dtype.h"
#include "antichain/backends/cpu/simd/element.h"
#include "antichain/backends/cpu/simd/loops.h"
#include "antichain/backends/cpu/simd/wide_math.h"

namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL {

// Functors whose results need no rounding, because they have no more bits than the arguments.
template <class F>
inline constexpr bool kExact = false;

// The loop of functor F on elements of type S, with results of type R. Nothing it calls may remain
// a function of its own, see level.h.
template <class F, class S, class R, std::size_t... kInput>
[[gnu::flatten, gnu::noinline]] void loop(const void* const* in, void* out, std::int64_t count) {
  const S* const from[] = {static_cast<const S*>(in[kInput])...};
  R* const to = static_cast<R*>(out);
#pragma GCC ivdep  // `out` may be an input, element for element
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = write<R, kExact<F>>(F()(read(from[kInput][i])...));
  }
}

// Two neighbours of 16 bits as one word: with halves of words there is nothing to shuffle.
using PairWord [[gnu::may_alias, gnu::aligned(2)]] = std::uint32_t;
using PairOfBools [[gnu::may_alias, gnu::aligned(1)]] = std::uint16_t;

inline Real lower(std::uint32_t word) {
  return real_of_bits(static_cast<std::int32_t>(word << 16));
}
inline Real upper(std::uint32_t word) {
  return real_of_bits(static_cast<std::int32_t>(word & 0xFFFF0000U));
}

// The loop of functor F on bf16, with results of type R: bf16 or bool.
template <class F, class R, std::size_t... kInput>
[[gnu::flatten, gnu::noinline]] void pair_loop(const void* const* in, void* out,
                                               std::int64_t count) {
  const PairWord* const from[] = {static_cast<const PairWord*>(in[kInput])...};
  PairWord* const to = static_cast<PairWord*>(out);
  PairOfBools* const to_bools = static_cast<PairOfBools*>(out);
#ifndef __SANITIZE_ADDRESS__  // whose checks make it a loop that GCC cannot annotate
#pragma GCC ivdep             // `out` may be an input, element for element
#endif
  for (std::int64_t i = 0; i < count / 2; ++i) {
    const auto a = F()(lower(from[kInput][i])...), b = F()(upper(from[kInput][i])...);
    if constexpr (std::is_same_v<R, bool>) {
      to_bools[i] = static_cast<std::uint16_t>((a ? 1 : 0) | (b ? 256 : 0));
    } else {
      to[i] = rounded_word<kExact<F>>(a) >> 16 | (rounded_word<kExact<F>>(b) & 0xFFFF0000U);
    }
  }
  if (count % 2 != 0) {
    const std::int64_t last = count - 1;
    static_cast<R*>(out)[last] =
        write<R, kExact<F>>(F()(read(static_cast<const bfloat16*>(in[kInput])[last])...));
  }
}

// Functors whose argument is an angle, of which the level computes up to kLargestAngle.
template <class F>
inline constexpr bool kOfAngle = false;

// The loop of such a functor: a piece at a time, so that what is too large can be computed by libm
// before the results are written over the arguments.
template <class F, class S>
[[gnu::flatten, gnu::noinline]] void angle_loop(const void* const* in, void* out,
                                                std::int64_t count) {
  Real results[kTile];
  for (std::int64_t first = 0; first < count; first += kTile) {
    const std::int64_t size = count - first < kTile ? count - first : kTile;
    const S* const from = static_cast<const S*>(in[0]) + first;
    S* const to = static_cast<S*>(out) + first;
    int num_large = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      const Real x = read(from[i]);
      results[i] = F()(x);
      num_large += fabs(x) <= kLargestAngle ? 0 : 1;
    }
    for (std::int64_t i = 0; num_large > 0 && i < size; ++i) {
      const Real x = read(from[i]);
      if (!(fabs(x) <= kLargestAngle)) {
        results[i] = Real(F()(static_cast<double>(x.value)));
      }
    }
    for (std::int64_t i = 0; i < size; ++i) {
      to[i] = write<S>(results[i]);
    }
  }
}

// The loop for f16 around the loop for f32.
template <ElementLoop kLoop, class R, std::size_t... kInput>
[[gnu::flatten]] void half_loop(const void* const* in, void* out, std::int64_t count) {
  float wide[sizeof...(kInput)][kTile], result[kTile];
  const void* const from[] = {wide[kInput]...};
  for (std::int64_t first = 0; first < count; first += kTile) {
    const std::int64_t size = count - first < kTile ? count - first : kTile;
    (widen(static_cast<const float16*>(in[kInput]) + first, wide[kInput], size), ...);
    if constexpr (std::is_same_v<R, bool>) {
      kLoop(from, static_cast<bool*>(out) + first, size);
    } else {
      kLoop(from, result, size);
      narrow(result, static_cast<float16*>(out) + first, size);
    }
  }
}

enum class Takes { floats, numbers, everything };

template <class F, class S, std::size_t... kInput>
constexpr ElementLoop make_loop() {
  using T = Computed<std::conditional_t<std::is_same_v<S, float16>, float, S>>;
  constexpr bool kPredicate =
      std::is_same_v<decltype(F()((static_cast<void>(kInput), T())...)), bool>;
  if constexpr (kOfAngle<F> && std::is_same_v<Computed<S>, Real>) {
    return angle_loop<F, S>;
  } else if constexpr (std::is_same_v<S, float16>) {
    return half_loop<make_loop<F, float, kInput...>(), std::conditional_t<kPredicate, bool, float>,
                     kInput...>;
  } else if constexpr (std::is_same_v<S, bfloat16>) {
    return pair_loop<F, std::conditional_t<kPredicate, bool, S>, kInput...>;
  } else {
    return loop<F, S, std::conditional_t<kPredicate, bool, S>, kInput...>;
  }
}

// Fills the row of functor F for the types that its operator takes.
template <class F, Takes kTakes, std::size_t... kInput>
constexpr LoopRow make_row(const char* op) {
  LoopRow row{op, {}};
  const auto make = []<class S>() { return make_loop<F, S, kInput...>(); };
  if constexpr (kTakes == Takes::floats) {
    set_floats(row.loops, make);
  } else if constexpr (kTakes == Takes::numbers) {
    set_numbers(row.loops, make);
  } else {
    set_everything(row.loops, make);
  }
  return row;
}

template <class F, Takes kTakes = Takes::floats>
constexpr LoopRow unary(const char* op) {
  return make_row<F, kTakes, 0>(op);
}
template <class F, Takes kTakes = Takes::floats>
constexpr LoopRow binary(const char* op) {
  return make_row<F, kTakes, 0, 1>(op);
}

}  // namespace antichain::cpu::ANTICHAIN_SIMD_LEVEL
