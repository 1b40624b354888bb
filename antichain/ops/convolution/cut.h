// The slice of derivative rules and decompositions: a box that is known to fit.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Keeps sizes[i] positions of axis i from starts[i] on. Nothing is clamped, so the result has
/// exactly these dims; a box that leaves x is an error.
Var cut(const Operand& x, const Dims& starts, const Dims& sizes);

}  // namespace antichain
