// The loops of reductions. Compiled per level.
#include "antichain/backends/cpu/simd/fold_loops.h"

#include "antichain/backends/cpu/simd/vector.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

// How a total takes a value, of numbers and of vectors alike.
struct Sum {
  static constexpr int kStart = 0;
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
  static T fold(T total, T value, T shift) {
    const T distance = value - shift;
    return total + distance * distance;
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
  template <class T>
  static T join(T a, T b) {
    return fold(a, b, b);
  }
};

// Elements are replaced by their exponentials tile by tile, and the tiles are added up.
struct Exponentials : Sum {};

template <class F, class S>
inline constexpr bool kInTiles = kIsHalf<S> || std::is_same_v<F, Exponentials>;

template <class F>
concept HasStart = requires {
  F::kStart;
};

// A row of floats. Eight vectors of totals: additions wait for each other, so several are under way
// at once.
template <class F, class S>
double fold_row(const S* x, std::int64_t count, double shift, double total) {
  constexpr int kTotals = 8;
  double start = total;
  if constexpr (HasStart<F>) {
    start = F::kStart;
  }
  const Doubles shifts = Doubles{} + shift, starts = Doubles{} + start;
  std::int64_t i = 0;
  if (count >= kDoubles) {
    Doubles totals[kTotals];
    for (int k = 0; k < kTotals; ++k) {
      totals[k] = starts;
    }
    for (; i + kTotals * kDoubles <= count; i += kTotals * kDoubles) {
#pragma GCC unroll 8
      for (int k = 0; k < kTotals; ++k) {
        totals[k] = F::fold(totals[k], load_doubles(x + i + k * kDoubles), shifts);
      }
    }
    for (; i + kDoubles <= count; i += kDoubles) {
      totals[0] = F::fold(totals[0], load_doubles(x + i), shifts);
    }
    for (int k = kTotals / 2; k > 0; k /= 2) {
      for (int j = 0; j < k; ++j) {
        totals[j] = F::join(totals[j], totals[j + k]);
      }
    }
    for (int lane = 0; lane < kDoubles; ++lane) {
      total = F::join(total, totals[0][lane]);
    }
  }
  for (; i < count; ++i) {
    total = F::fold(total, static_cast<double>(x[i]), shift);
  }
  return total;
}

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

template <class F, class S>
void rows_of(const void* data, std::int64_t rows, std::int64_t stride, std::int64_t count,
             const double* shifts, void* results) {
  const S* x = static_cast<const S*>(data);
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    if constexpr (std::is_integral_v<S>) {
      std::int64_t& total = static_cast<std::int64_t*>(results)[row];
      total = fold_integers<F>(x, count, total);
    } else {
      double& total = static_cast<double*>(results)[row];
      const double shift = shifts ? shifts[row] : 0;
      if constexpr (kInTiles<F, S>) {
        Wide<S> tile[kTile];
        for (std::int64_t first = 0; first < count; first += kTile) {
          const std::int64_t size = count - first < kTile ? count - first : kTile;
          widen(x + first, tile, size);
          if constexpr (std::is_same_v<F, Exponentials>) {
            for (std::int64_t i = 0; i < size; ++i) {
              tile[i] = exponential(tile[i] - static_cast<Wide<S>>(shift));
            }
          }
          total = fold_row<F>(static_cast<const Wide<S>*>(tile), size, shift, total);
        }
      } else {
        total = fold_row<F>(x, count, shift, total);
      }
    }
  }
}

// Four rows at a time, so that totals are read and written once for four elements.
template <class F, class S>
void fold_columns(const S* x, std::int64_t rows, std::int64_t stride, std::int64_t count,
                  const double* shifts, double* totals) {
  std::int64_t row = 0;
  for (; row + 4 <= rows; row += 4, x += 4 * stride) {
    const S *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      const double shift = shifts[i];
      double total = F::fold(totals[i], static_cast<double>(x[i]), shift);
      total = F::fold(total, static_cast<double>(x1[i]), shift);
      total = F::fold(total, static_cast<double>(x2[i]), shift);
      totals[i] = F::fold(total, static_cast<double>(x3[i]), shift);
    }
  }
  for (; row < rows; ++row, x += stride) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
      totals[i] = F::fold(totals[i], static_cast<double>(x[i]), shifts[i]);
    }
  }
}

template <class F, class S>
void columns_of(const void* data, std::int64_t rows, std::int64_t stride, std::int64_t count,
                const double* shifts, void* results) {
  const S* x = static_cast<const S*>(data);
  if constexpr (std::is_integral_v<S>) {
    auto* totals = static_cast<std::int64_t*>(results);
    for (std::int64_t row = 0; row < rows; ++row, x += stride) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) {
        totals[i] = fold_integers<F>(x + i, 1, totals[i]);
      }
    }
  } else {
    auto* totals = static_cast<double*>(results);
    // Without shifts any numbers do: the fold ignores them.
    const double* given = shifts ? shifts : totals;
    if constexpr (kInTiles<F, S>) {
      constexpr int kRows = 4;
      Wide<S> tile[kRows * kTile];
      for (std::int64_t first = 0; first < count; first += kTile) {
        const std::int64_t size = count - first < kTile ? count - first : kTile;
        for (std::int64_t row = 0; row < rows; row += kRows) {
          const std::int64_t some = rows - row < kRows ? rows - row : kRows;
          for (std::int64_t k = 0; k < some; ++k) {
            Wide<S>* wide = tile + k * kTile;
            widen(x + (row + k) * stride + first, wide, size);
            if constexpr (std::is_same_v<F, Exponentials>) {
              for (std::int64_t i = 0; i < size; ++i) {
                wide[i] = exponential(wide[i] - static_cast<Wide<S>>(given[first + i]));
              }
            }
          }
          fold_columns<F>(static_cast<const Wide<S>*>(tile), some, kTile, size, given + first,
                          totals + first);
        }
      }
    } else {
      fold_columns<F>(x, rows, stride, count, given, totals);
    }
  }
}

template <class F>
constexpr void set_floats(FoldTable& table, Fold fold) {
  FoldLoops* loops = table.loops[static_cast<int>(fold)];
  loops[static_cast<int>(f32)] = {rows_of<F, float>, columns_of<F, float>};
  loops[static_cast<int>(f64)] = {rows_of<F, double>, columns_of<F, double>};
  loops[static_cast<int>(bf16)] = {rows_of<F, bfloat16>, columns_of<F, bfloat16>};
  loops[static_cast<int>(f16)] = {rows_of<F, float16>, columns_of<F, float16>};
}

template <class F>
constexpr void set_numbers(FoldTable& table, Fold fold) {
  set_floats<F>(table, fold);
  FoldLoops* loops = table.loops[static_cast<int>(fold)];
  loops[static_cast<int>(i8)] = {rows_of<F, std::int8_t>, columns_of<F, std::int8_t>};
  loops[static_cast<int>(i32)] = {rows_of<F, std::int32_t>, columns_of<F, std::int32_t>};
  loops[static_cast<int>(i64)] = {rows_of<F, std::int64_t>, columns_of<F, std::int64_t>};
  loops[static_cast<int>(u8)] = {rows_of<F, std::uint8_t>, columns_of<F, std::uint8_t>};
}

constexpr FoldTable make_table() {
  FoldTable table{};
  set_numbers<Sum>(table, Fold::sum);
  set_numbers<Product>(table, Fold::product);
  set_numbers<Extreme<false>>(table, Fold::smallest);
  set_numbers<Extreme<true>>(table, Fold::largest);
  set_floats<Squares>(table, Fold::squares);
  set_floats<Exponentials>(table, Fold::exponentials);
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
