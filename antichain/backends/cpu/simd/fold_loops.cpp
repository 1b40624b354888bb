// The loops of reductions. Compiled per level.
#include "antichain/backends/cpu/simd/fold_loops.h"

#include <utility>

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

// What lanes of a row hold. The sum of a tile may be a float's where a tile ends in a 16-bit float
// or in an exponential, which has been rounded to float anyway; comparing needs no more.
template <class F, class S>
using Lane =
    std::conditional_t<std::is_same_v<S, double>, double,
                       std::conditional_t<std::is_base_of_v<Sum, F> && kInTiles<F, S>, float,
                                          std::conditional_t<HasStart<F>, double, float>>>;

// The sum of a row of floats. Sums of four are floats and the rest is double: converting every
// element would cost more than adding it. (Four elements near the largest float may so become
// infinite.) Returns how many elements it took.
inline std::int64_t sum_by_fours(const float* x, std::int64_t count, Vector<double>& sum) {
  constexpr int kWidth = kLanes<float>, kHalf = kLanes<double>;
  Vector<double> t0 = {}, t1 = {}, t2 = {}, t3 = {};
  std::int64_t i = 0;
  for (; i + 8 * kWidth <= count; i += 8 * kWidth) {
    const float* from = x + i;
    float fours[2 * kWidth];
    const Vector<float> a =
        (load_vector<float>(from) + load_vector<float>(from + kWidth)) +
        (load_vector<float>(from + 2 * kWidth) + load_vector<float>(from + 3 * kWidth));
    const Vector<float> b =
        (load_vector<float>(from + 4 * kWidth) + load_vector<float>(from + 5 * kWidth)) +
        (load_vector<float>(from + 6 * kWidth) + load_vector<float>(from + 7 * kWidth));
    __builtin_memcpy(fours, &a, sizeof(a));
    __builtin_memcpy(fours + kWidth, &b, sizeof(b));
    t0 += load_vector<double>(fours);
    t1 += load_vector<double>(fours + kHalf);
    t2 += load_vector<double>(fours + kWidth);
    t3 += load_vector<double>(fours + kWidth + kHalf);
  }
  sum += (t0 + t1) + (t2 + t3);
  return i;
}

// A row of numbers of type W in lanes of type L. Eight vectors of totals: additions wait for each
// other, so several are under way at once.
template <class F, class L, class W>
double fold_row(const W* x, std::int64_t count, double shift, double total) {
  constexpr int kTotals = 8, kWidth = kLanes<L>;
  L start = static_cast<L>(total);
  if constexpr (HasStart<F>) {
    start = F::kStart;
  }
  const Vector<L> shifts = Vector<L>{} + static_cast<L>(shift), starts = Vector<L>{} + start;
  std::int64_t i = 0;
  if (count >= kWidth) {
    Vector<L> totals = starts;
    if constexpr (std::is_same_v<F, Sum> && std::is_same_v<L, double> && std::is_same_v<W, float>) {
      i = sum_by_fours(x, count, totals);
    } else if (count >= kTotals * kWidth) {
      Vector<L> t0 = starts, t1 = starts, t2 = starts, t3 = starts, t4 = starts, t5 = starts,
                t6 = starts, t7 = starts;
      for (; i + kTotals * kWidth <= count; i += kTotals * kWidth) {
        const W* from = x + i;
        t0 = F::fold(t0, load_vector<L>(from), shifts);
        t1 = F::fold(t1, load_vector<L>(from + kWidth), shifts);
        t2 = F::fold(t2, load_vector<L>(from + 2 * kWidth), shifts);
        t3 = F::fold(t3, load_vector<L>(from + 3 * kWidth), shifts);
        t4 = F::fold(t4, load_vector<L>(from + 4 * kWidth), shifts);
        t5 = F::fold(t5, load_vector<L>(from + 5 * kWidth), shifts);
        t6 = F::fold(t6, load_vector<L>(from + 6 * kWidth), shifts);
        t7 = F::fold(t7, load_vector<L>(from + 7 * kWidth), shifts);
      }
      totals = F::join(F::join(F::join(t0, t1), F::join(t2, t3)),
                       F::join(F::join(t4, t5), F::join(t6, t7)));
    }
    for (; i + kWidth <= count; i += kWidth) {
      totals = F::fold(totals, load_vector<L>(x + i), shifts);
    }
    L lanes[kWidth];
    __builtin_memcpy(lanes, &totals, sizeof(lanes));
    for (int width = kWidth / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) {
        lanes[lane] = F::join(lanes[lane], lanes[lane + width]);
      }
    }
    total = F::join(total, static_cast<double>(lanes[0]));
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
  if constexpr (!std::is_integral_v<S> && !kInTiles<F, S>) {
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
        Wide<S> tile[kTile];
        for (std::int64_t first = 0; first < count; first += kTile) {
          const std::int64_t size = count - first < kTile ? count - first : kTile;
          widen(x + first, tile, size);
          if constexpr (std::is_same_v<F, Exponentials>) {
            for (std::int64_t i = 0; i < size; ++i) {
              tile[i] = exponential(tile[i] - static_cast<Wide<S>>(shift));
            }
          }
          total = fold_row<F, Lane<F, S>>(static_cast<const Wide<S>*>(tile), size, shift, total);
        }
      } else {
        total = fold_row<F, Lane<F, S>>(x, count, shift, total);
      }
    }
  }
}

// Folds kRows rows in lanes of type L, and the result into totals, which are so read and written
// once for all of the rows. Returns how many columns it did: whole vectors.
template <int kRows, class F, class L, class W>
std::int64_t fold_some_rows(const W* x, std::int64_t stride, std::int64_t count,
                            const double* shifts, double* totals) {
  constexpr int kWidth = kLanes<L>, kHalf = kLanes<double>;
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    if constexpr (std::is_same_v<L, double>) {
      const Vector<double> shift = load_vector<double>(shifts + i);
      Vector<double> total = load_vector<double>(totals + i);
#pragma GCC unroll 8
      for (int row = 0; row < kRows; ++row) {
        total = F::fold(total, load_vector<double>(x + row * stride + i), shift);
      }
      store_vector(totals + i, total);
    } else {
      float narrow[kWidth];
      store_vector(narrow, load_vector<double>(shifts + i));
      store_vector(narrow + kHalf, load_vector<double>(shifts + i + kHalf));
      const Vector<float> shift = load_vector<float>(narrow);
      Vector<float> total = load_vector<float>(x + i);
      if constexpr (HasStart<F>) {
        total = F::fold(Vector<float>{} + static_cast<float>(F::kStart), total, shift);
      }
#pragma GCC unroll 8
      for (int row = 1; row < kRows; ++row) {
        total = F::fold(total, load_vector<float>(x + row * stride + i), shift);
      }
      __builtin_memcpy(narrow, &total, sizeof(narrow));
      for (int half = 0; half < kWidth; half += kHalf) {
        store_vector(totals + i + half, F::join(load_vector<double>(totals + i + half),
                                                load_vector<double>(narrow + half)));
      }
    }
  }
  return i;
}

template <int kRows, class F, class L, class W>
void fold_rows_together(const W* x, std::int64_t stride, std::int64_t count, const double* shifts,
                        double* totals) {
  std::int64_t i = fold_some_rows<kRows, F, L>(x, stride, count, shifts, totals);
  for (; i < count; ++i) {
    for (int row = 0; row < kRows; ++row) {
      totals[i] = F::fold(totals[i], static_cast<double>(x[row * stride + i]), shifts[i]);
    }
  }
}

template <class F, class L, class W>
void fold_columns(const W* x, std::int64_t rows, std::int64_t stride, std::int64_t count,
                  const double* shifts, double* totals) {
  std::int64_t row = 0;
  for (; row + 8 <= rows; row += 8) {
    fold_rows_together<8, F, L>(x + row * stride, stride, count, shifts, totals);
  }
  for (; row + 2 <= rows; row += 2) {
    fold_rows_together<2, F, L>(x + row * stride, stride, count, shifts, totals);
  }
  for (; row < rows; ++row) {
    fold_rows_together<1, F, L>(x + row * stride, stride, count, shifts, totals);
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
      Wide<S> tile[kRows * kTile], narrow[kTile];
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
          fold_columns<F, Lane<F, S>>(static_cast<const Wide<S>*>(tile), some, kTile, size,
                                      given + first, totals + first);
        }
      }
    } else {
      fold_columns<F, Lane<F, S>>(x, rows, stride, count, given, totals);
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
