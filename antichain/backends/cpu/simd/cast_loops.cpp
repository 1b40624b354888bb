// cast, select and clip: operators without a functor. Compiled per level.
#include <limits>

#include "antichain/backends/cpu/simd/by_dtype.h"
#include "antichain/backends/cpu/simd/make_loop.h"
#include "antichain/backends/cpu/simd/vector.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

// Towards zero, clamped to the range, NaN to 0: antichain::saturate without branches.
template <class To, class From>
To saturated(From value) {
  constexpr To kLow = std::numeric_limits<To>::min(), kHigh = std::numeric_limits<To>::max();
  // The upper limit may round up to a power of two that no longer fits; such values, and NaN, are
  // converted as 0 and replaced.
  const bool above = value >= static_cast<From>(kHigh), below = value <= static_cast<From>(kLow);
  const bool inside = value > static_cast<From>(kLow) && value < static_cast<From>(kHigh);
  using Wide = std::conditional_t<(sizeof(To) < 4), std::int32_t, To>;
  const auto whole = static_cast<To>(static_cast<Wide>(inside ? value : From(0)));
  return above ? kHigh : below ? kLow : whole;
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, bfloat16>) {
    return converted<To>(read(value).value);
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    return to_bfloat16(Real(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return saturated<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
[[gnu::flatten, gnu::noinline]] void cast(const void* const* in, void* out, std::int64_t count) {
  const From* const from = static_cast<const From*>(in[0]);
  To* const to = static_cast<To*>(out);
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, bfloat16>) {
    round_floats<true>(from, to, count);
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = converted<To>(from[i]);
    }
  }
}

// f16 on one side or both, around the loop for f32.
template <class From, class To>
[[gnu::flatten]] void cast_half(const void* const* in, void* out, std::int64_t count) {
  float wide[kTile];
  const void* const wide_in[] = {wide};
  for (std::int64_t first = 0; first < count; first += kTile) {
    const std::int64_t size = count - first < kTile ? count - first : kTile;
    const From* const from = static_cast<const From*>(in[0]) + first;
    To* const to = static_cast<To*>(out) + first;
    if constexpr (std::is_same_v<From, float16>) {
      widen(from, wide, size);
    } else {
      const void* const piece[] = {from};
      cast<From, float>(piece, wide, size);
    }
    if constexpr (std::is_same_v<To, float16>) {
      narrow(wide, to, size);
    } else {
      cast<float, To>(wide_in, to, size);
    }
  }
}

template <class From, class To>
constexpr ElementLoop make_cast() {
  constexpr bool kHalf = std::is_same_v<From, float16> || std::is_same_v<To, float16>;
  if constexpr (std::is_same_v<From, To>) {
    return cast<std::conditional_t<kHalf, bfloat16, From>, std::conditional_t<kHalf, bfloat16, To>>;
  } else if constexpr (kHalf) {
    return cast_half<From, To>;
  } else {
    return cast<From, To>;
  }
}

struct LoopsByType {
  ElementLoop of[kNumDTypes];
};

struct CastTable {
  LoopsByType from[kNumDTypes];
};

constexpr CastTable kCasts = [] {
  CastTable table{};
  set_everything(table.from, []<class From>() {
    LoopsByType row{};
    set_everything(row.of, []<class To>() { return make_cast<From, To>(); });
    return row;
  });
  return table;
}();

template <class S>
[[gnu::flatten, gnu::noinline]] void select(const void* const* in, void* out, std::int64_t count) {
  // As bytes: GCC 12 does not vectorise a condition that is loaded as bool.
  const auto* const condition = static_cast<const unsigned char*>(in[0]);
  const S* const yes = static_cast<const S*>(in[1]);
  const S* const no = static_cast<const S*>(in[2]);
  S* const to = static_cast<S*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const S a = yes[i], b = no[i];
    if constexpr (std::is_arithmetic_v<S>) {
      to[i] = condition[i] != 0 ? a : b;
    } else {
      to[i].bits = condition[i] != 0 ? a.bits : b.bits;
    }
  }
}

constexpr LoopsByType kSelects = [] {
  LoopsByType row{};
  set_everything(row.of, []<class S>() -> ElementLoop { return select<S>; });
  return row;
}();

template <class S>
[[gnu::flatten, gnu::noinline]] void clip(const void* const* in, void* out, std::int64_t count) {
  const S* const from = static_cast<const S*>(in[0]);
  const double* const limits = static_cast<const double*>(in[1]);
  const Computed<S> low(limits[0]), high(limits[1]);
  S* const to = static_cast<S*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const Computed<S> x = read(from[i]);
    to[i] = write<S>(choose(x < low, low, choose(x > high, high, x)));
  }
}

void clip_half(const void* const* in, void* out, std::int64_t count) {
  float wide[kTile];
  const void* const from[] = {wide, in[1]};
  for (std::int64_t first = 0; first < count; first += kTile) {
    const std::int64_t size = count - first < kTile ? count - first : kTile;
    widen(static_cast<const float16*>(in[0]) + first, wide, size);
    clip<float>(from, wide, size);
    narrow(wide, static_cast<float16*>(out) + first, size);
  }
}

constexpr LoopsByType kClips = [] {
  LoopsByType row{};
  set_floats(row.of, []<class S>() -> ElementLoop {
    if constexpr (std::is_same_v<S, float16>) {
      return clip_half;
    } else {
      return clip<S>;
    }
  });
  return row;
}();

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
ElementLoop cast_loop<kSimdLevel>(DType from, DType to) {
  return ANTICHAIN_SIMD_LEVEL::kCasts.from[static_cast<int>(from)].of[static_cast<int>(to)];
}

template <>
ElementLoop select_loop<kSimdLevel>(DType dtype) {
  return ANTICHAIN_SIMD_LEVEL::kSelects.of[static_cast<int>(dtype)];
}

template <>
ElementLoop clip_loop<kSimdLevel>(DType dtype) {
  return ANTICHAIN_SIMD_LEVEL::kClips.of[static_cast<int>(dtype)];
}

}  // namespace antichain::cpu
