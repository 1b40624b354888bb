// C-points of chains that compute in 16 bits are kept in 32: corrections are small differences, and
// in 16 bits each of them would add its rounding error.
#pragma once

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::multigrid {

/// Returns values in the type that C-points have.
Vars widened(const Vars& values);
/// Returns values in the types of the carried states of a chain.
Vars as_states(Op chain, const Vars& values);

}  // namespace antichain::multigrid
