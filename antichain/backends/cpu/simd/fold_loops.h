// What the sources compiled per level give to the reductions: loops that fold many elements into
// one, along rows or along columns of a matrix.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/tensor/dtype.h"

namespace antichain::cpu {

/// Says what a loop does with the elements x.
enum class Fold {
  sum,
  product,
  smallest,      // NaN wins
  largest,       // NaN wins
  squares,       // sum of (x - shift)^2
  exponentials,  // sum of exp(x - shift)
};
inline constexpr int kNumFolds = 6;

/// Folds a matrix of `rows` rows, `stride` elements apart, of `count` packed elements. Totals are
/// double for floats and int64 for integers, and are folded into. A loop over rows has one total
/// and one shift per row, a loop over columns one per column.
using FoldLoop = void (*)(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t count,
                          const double* shifts, void* totals);

/// The loops of one fold on one element type; nullptr where there are none.
struct FoldLoops {
  FoldLoop rows = nullptr, columns = nullptr;
};

struct FoldTable {
  FoldLoops loops[kNumFolds][kNumDTypes];

  FoldLoops find(Fold fold, DType dtype) const {
    return loops[static_cast<int>(fold)][static_cast<int>(dtype)];
  }
};

template <SimdLevel>
const FoldTable& fold_table();

}  // namespace antichain::cpu
