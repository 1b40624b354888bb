// The loops of reductions. Compiled per level.
#include "antichain/backends/cpu/simd/fold_loops.h"

#include <utility>

#include "antichain/backends/cpu/simd/by_dtype.h"
#include "antichain/backends/cpu/simd/fold_columns.h"
#include "antichain/backends/cpu/simd/fold_row.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

// A row of integers; unsigned, because they wrap.
template <class F, class S>
std::int64_t fold_integers(const S* x, std::int64_t count, std::int64_t total) {
  if constexpr (HasStart<F>) {
    auto sum = static_cast<std::uint64_t>(total);
    for (std::int64_t i = 0; i < count; ++i) {
      sum = F::fold(sum, static_cast<std::uint64_t>(static_cast<std::int64_t>(x[i])), sum);
    }
    return static_cast<std::int64_t>(sum);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      total = F::fold(total, static_cast<std::int64_t>(x[i]), total);
    }
    return total;
  }
}

// A tile of exponentials is added up as any floats are.
template <class F>
using TileFold = std::conditional_t<std::is_same_v<F, Exponentials>, Sum, F>;

// Packed rows that are shorter than a vector.
template <class F, int kCount, class S>
void fold_short_rows(const S* x, std::int64_t rows, const double* shifts, double* totals) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const double shift = shifts ? shifts[row] : 0;
    double total = totals[row];
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      total = F::fold(total, static_cast<double>(x[row * kCount + i]), shift);
    }
    totals[row] = total;
  }
}

// Returns whether there is a loop for rows of this length.
template <class F, class S, int... kCount>
bool fold_if_short(const S* x, std::int64_t rows, std::int64_t count, const double* shifts,
                   double* totals, std::integer_sequence<int, kCount...>) {
  return ((count == kCount && (fold_short_rows<F, kCount>(x, rows, shifts, totals), true)) || ...);
}

template <class F, class S>
void rows_of(const void* data, std::int64_t rows, std::int64_t stride, std::int64_t count,
             const double* shifts, void* results) {
  const S* x = static_cast<const S*>(data);
  if constexpr (std::is_floating_point_v<S> && !kInTiles<F, S>) {
    using Short = std::integer_sequence<int, 1, 2, 3, 4, 5, 6, 7>;
    if (stride == count &&
        fold_if_short<F>(x, rows, count, shifts, static_cast<double*>(results), Short())) {
      return;
    }
  }
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    if constexpr (std::is_integral_v<S>) {
      std::int64_t& total = static_cast<std::int64_t*>(results)[row];
      total = fold_integers<F>(x, count, total);
    } else {
      double& total = static_cast<double*>(results)[row];
      const double shift = shifts ? shifts[row] : 0;
      if constexpr (kInTiles<F, S>) {
        // Longer than elsewhere: a loop of exponentials takes a while to get going.
        constexpr std::int64_t kLongTile = 4 * kTile;
        alignas(kVectorBytes) Wide<S> tile[kLongTile];
        for (std::int64_t first = 0; first < count; first += kLongTile) {
          const std::int64_t size = count - first < kLongTile ? count - first : kLongTile;
          widen(x + first, tile, size);
          if constexpr (std::is_same_v<F, Exponentials>) {
            for (std::int64_t i = 0; i < size; ++i) {
              tile[i] = exponential(tile[i] - static_cast<Wide<S>>(shift));
            }
          }
          total = fold_row<TileFold<F>>(static_cast<const Wide<S>*>(tile), size, shift, total);
        }
      } else {
        total = fold_row<F>(x, count, shift, total);
      }
    }
  }
}

template <class F, class S>
void fold_integer_columns(const S* x, std::int64_t rows, std::int64_t stride, std::int64_t count,
                          std::int64_t* totals) {
  constexpr int kRows = 4;
  std::int64_t row = 0;
  for (; row + kRows <= rows; row += kRows, x += kRows * stride) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t total = totals[i];
#pragma GCC unroll 4
      for (int k = 0; k < kRows; ++k) {
        total = fold_integers<F>(x + k * stride + i, 1, total);
      }
      totals[i] = total;
    }
  }
  for (; row < rows; ++row, x += stride) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      totals[i] = fold_integers<F>(x + i, 1, totals[i]);
    }
  }
}

template <class F, class S>
void columns_of(const void* data, std::int64_t rows, std::int64_t stride, std::int64_t count,
                const double* shifts, void* results) {
  const S* x = static_cast<const S*>(data);
  if constexpr (std::is_integral_v<S>) {
    fold_integer_columns<F>(x, rows, stride, count, static_cast<std::int64_t*>(results));
  } else {
    auto* totals = static_cast<double*>(results);
    // Without shifts any numbers do: the fold ignores them.
    const double* given = shifts ? shifts : totals;
    if constexpr (kInTiles<F, S>) {
      // A few rows at a time, from left to right: that is how memory is read ahead.
      constexpr int kRows = 8;
      alignas(kVectorBytes) Wide<S> tile[kRows * kTile], narrow[kTile];
      for (std::int64_t row = 0; row < rows; row += kRows) {
        const std::int64_t some = rows - row < kRows ? rows - row : kRows;
        for (std::int64_t first = 0; first < count; first += kTile) {
          const std::int64_t size = count - first < kTile ? count - first : kTile;
          for (std::int64_t i = 0; i < size; ++i) {
            narrow[i] = static_cast<Wide<S>>(given[first + i]);
          }
          for (std::int64_t k = 0; k < some; ++k) {
            Wide<S>* wide = tile + k * kTile;
            widen(x + (row + k) * stride + first, wide, size);
            if constexpr (std::is_same_v<F, Exponentials>) {
              for (std::int64_t i = 0; i < size; ++i) {
                wide[i] = exponential(wide[i] - narrow[i]);
              }
            }
          }
          fold_columns<TileFold<F>>(static_cast<const Wide<S>*>(tile), some, kTile, size,
                                    given + first, totals + first);
        }
      }
    } else {
      fold_columns<F>(x, rows, stride, count, given, totals);
    }
  }
}

template <class F>
constexpr auto kLoops = []<class S>() {
  return FoldLoops{rows_of<F, S>, columns_of<F, S>};
};

constexpr FoldTable make_table() {
  FoldTable table{};
  const auto loops = [&table](Fold fold) -> auto& { return table.loops[static_cast<int>(fold)]; };
  set_numbers(loops(Fold::sum), kLoops<Sum>);
  set_numbers(loops(Fold::product), kLoops<Product>);
  set_numbers(loops(Fold::smallest), kLoops<Extreme<false>>);
  set_numbers(loops(Fold::largest), kLoops<Extreme<true>>);
  set_floats(loops(Fold::squares), kLoops<Squares>);
  set_floats(loops(Fold::exponentials), kLoops<Exponentials>);
  return table;
}

constexpr FoldTable kTable = make_table();

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
const FoldTable& fold_table<kSimdLevel>() {
  return ANTICHAIN_SIMD_LEVEL::kTable;
}

}  // namespace antichain::cpu
