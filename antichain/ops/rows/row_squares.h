// The sum of squares of a gradient of which most rows are 0.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Adds up the squares of all elements (f64): those of a row, then the rows in their order, so that
/// rows of zeros more or less change no bit. With `marked` (bool, one per row of x) only the marked
/// rows count; those of f32 may be rounded to a type of 16 bits first.
Var sum_row_squares(const Operand& x);
Var sum_row_squares(const Operand& x, const Operand& marked);
Var sum_row_squares(const Operand& x, const Operand& marked, DType rounded_to);

const OpDef& sum_row_squares_def();

}  // namespace antichain
