// Sorting and the largest elements.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

struct Sorted {
  Var values;
  Var indices;  // i64: where each value came from
};
/// Sorts along an axis; equal elements keep their order, NaN comes last.
Sorted sort(const Operand& x, std::int64_t axis = -1, bool descending = false);
/// Returns the k largest (or smallest) elements along an axis, in order.
Sorted top_k(const Operand& x, Dim k, std::int64_t axis = -1, bool largest = true);

const OpDef& sort_def();
const OpDef& top_k_def();

std::vector<const OpDef*> sorting_family();

}  // namespace antichain
