// What the files that define updates of rows share.
#pragma once

#include <vector>

#include "antichain/graph/op_def.h"
#include "antichain/ops/state/row_updates.h"

namespace antichain {

/// The inputs of such an update, in their order.
enum RowInput : int {
  kGradient,  // as a product: values[n]
  kNumbersInput,
  kWhen,
  kSelection,
  // Of a gradient that is a product, its other factors.
  kSlots,      // i64[n]: which selected row a value is added to
  kRowStarts,  // i64[m + 1]: which values belong to a row of `dense`
  kDense,      // [m, width]
  // Of a gradient that is the sum of a product and of rows.
  kAddedRows,   // [s, width]
  kAddedSlots,  // i64[s]: which selected row each is added to
};
/// The attribute that says whether each value of a product changes its row by itself.
inline constexpr const char* kLockFree = "lock_free";
inline constexpr int kProductInputs = kDense + 1, kSumInputs = kAddedSlots + 1;

/// Returns the inputs of an update; without a selection the gradient is of all rows.
std::vector<Var> row_inputs(Var gradient, const GradientUse& use,
                            const std::vector<Operand>& numbers, Var selection);

/// Returns samples of an op that updates so many states by a rule with so many numbers of its own.
std::vector<Sample> row_update_samples(const OpDef& def, int states, std::size_t numbers);
std::vector<Sample> accumulate_rows_samples();

}  // namespace antichain
