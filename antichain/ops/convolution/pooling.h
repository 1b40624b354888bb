// Pooling over one or more spatial axes: x[n, c, spatial...], or x[n, spatial..., c].
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

struct PoolOptions {
  Ints window;
  Ints stride = {};   // empty: the window
  Ints padding = {};  // empty: none
  bool channels_last = false;
};
/// Returns the largest element of each window; the first at a tie. Padding never wins, NaN always
/// does. The padding must be smaller than the window.
Var max_pool(const Operand& x, const PoolOptions& options);
struct MaxPool {
  Var values;
  Var indices;  // i64: position of the winner in the flattened spatial axes of x
};
MaxPool max_pool_with_indices(const Operand& x, const PoolOptions& options);
/// Returns the mean of each window; `count_padding` divides by the whole window also at the border.
Var avg_pool(const Operand& x, const PoolOptions& options, bool count_padding = true);

const OpDef& max_pool_def();
const OpDef& avg_pool_def();

std::vector<const OpDef*> pooling_family();

}  // namespace antichain
