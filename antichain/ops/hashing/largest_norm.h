// The largest norm of the rows of a weight, which transforms of hash functions compare others with.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Returns the largest norm of rows with their biases (f32), for HashBy.
Var largest_norm(Var weight, Var bias);
/// Returns that where `when` (bool) says so, and `otherwise` (f32) where it does not. One op, for
/// devices that are given whole steps: nobody has to wait for `when`, as a `cond` does.
Var largest_norm_if(Var when, Var weight, Var bias, Var otherwise);

const OpDef& largest_norm_if_def();

}  // namespace antichain
