// The rules of optimisers: which rule is which operator. Compiled per level.
#include "antichain/backends/cpu/simd/update_loops.h"

#include <algorithm>
#include <iterator>

#include "antichain/backends/cpu/simd/by_dtype.h"
#include "antichain/backends/cpu/simd/vector.h"
#include "antichain/ops/state/update_rules.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

// Changes `count` elements of states of type W, float or double.
template <class Rule, class W, std::size_t... kState>
[[gnu::always_inline]] inline void change(const W* const* before, W* const* after,
                                          const W* gradient, const double* numbers,
                                          std::int64_t count, std::index_sequence<kState...>) {
  using T = Computed<W>;
  const rules::Applied<Rule, T> rule(numbers);
  const W* const from[] = {before[kState]...};
  W* const to[] = {after[kState]...};
#pragma GCC ivdep  // `after` may be `before`, element for element
  for (std::int64_t i = 0; i < count; ++i) {
    T values[] = {read(from[kState][i])...};
    rule(read(gradient[i]), values[kState]...);
    ((to[kState][i] = write<W>(values[kState])), ...);
  }
}

template <class Rule, class S>
[[gnu::flatten, gnu::noinline]] void loop(const void* const* before, void* const* after,
                                          const void* gradient, const double* numbers,
                                          std::int64_t first, std::int64_t last) {
  using W = Wide<S>;
  constexpr auto kStates = std::make_index_sequence<Rule::kStates>();
  const W* from[Rule::kStates];
  W* to[Rule::kStates];
  for (int n = 0; n < Rule::kStates; ++n) {
    from[n] = static_cast<const W*>(before[n]) + first;
    to[n] = static_cast<W*>(after[n]) + first;
  }
  const S* const grads = static_cast<const S*>(gradient);
  if constexpr (!kIsHalf<S>) {
    change<Rule>(from, to, grads + first, numbers, last - first, kStates);
  } else {
    // The first state has the gradient's type: a tile of both is widened, and the state narrowed.
    W values[kTile], wide_grads[kTile];
    const S* const old = static_cast<const S*>(before[0]);
    S* const next = static_cast<S*>(after[0]);
    from[0] = to[0] = values;
    for (std::int64_t size; first < last; first += size) {
      size = last - first < kTile ? last - first : kTile;
      widen(old + first, values, size);
      widen(grads + first, wide_grads, size);
      change<Rule>(from, to, wide_grads, numbers, size, kStates);
      narrow(values, next + first, size);
      for (int n = 1; n < Rule::kStates; ++n) {
        from[n] += size;
        to[n] += size;
      }
    }
  }
}

template <class Rule>
constexpr UpdateRow row(const char* op) {
  UpdateRow result{op, {}};
  set_floats(result.loops, []<class S>() { return loop<Rule, S>; });
  return result;
}

constexpr UpdateRow kUpdateRows[] = {
    row<rules::Accumulate>("accumulate_update"),
    row<rules::Descent>("descent_update"),
    row<rules::Momentum>("momentum_update"),
    row<rules::Moments>("moments_update"),
    row<rules::Adam>("adam_update"),
    row<rules::Rmsprop>("rmsprop_update"),
    row<rules::RmspropMomentum>("rmsprop_momentum_update"),
    row<rules::Adagrad>("adagrad_update"),
};

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
UpdateTable update_loops<kSimdLevel>() {
  return {ANTICHAIN_SIMD_LEVEL::kUpdateRows,
          static_cast<int>(std::size(ANTICHAIN_SIMD_LEVEL::kUpdateRows))};
}

}  // namespace antichain::cpu
