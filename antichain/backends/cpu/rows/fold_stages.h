// Which loops a reduction of an element type runs, at one instruction-set level, and what becomes
// of their totals.
#pragma once

#include <optional>

#include "antichain/backends/cpu/rows/reduction.h"
#include "antichain/graph/op_def.h"

namespace antichain::cpu {

/// Knows the loops of one level.
struct FoldLevel {
  SimdLevel level;
  const FoldTable* table;

  FoldStage stage(Fold fold, DType dtype) const { return {fold, table->find(fold, dtype)}; }
};

/// How an op reduces in one walk.
struct FoldOp {
  Fold fold = Fold::sum;
  bool averages = false;  // the total is divided by the number of elements

  double finish(double total, double count) const { return averages ? total / count : total; }
  /// Throws ShapeError where outputs are to be chosen from nothing.
  void require_elements(const Reduction& reduction, std::string_view where) const;
};

/// Returns how sum, prod, mean, reduce_min and reduce_max reduce; nothing for other ops.
std::optional<FoldOp> fold_op(const OpDef& def);

/// Folds rows that lie packed, of any element type. Totals take kTotalBytes each.
struct RowFold {
  static constexpr std::size_t kTotalBytes = 8;

  FoldOp op;
  FoldStage stage;
  DType dtype;

  /// Folds positions [first, last) of rows: see Reduction::fold_rows.
  void fold(const Reduction& reduction, const void* x, std::int64_t rows, std::int64_t first,
            std::int64_t last, void* totals) const;
  /// Joins totals with those of what comes next in the same rows.
  void join(void* totals, const void* others, std::int64_t rows) const;
  /// Writes what becomes of the totals of rows of `count` elements.
  void write(const void* totals, std::int64_t rows, std::int64_t count, void* to) const;
};

}  // namespace antichain::cpu
