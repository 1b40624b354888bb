// Layers with the peer's parameters.
#pragma once

#include <span>

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::peer {

/// Returns the outputs with the graph's parameters, in order of creation, replaced by these values,
/// so that they can be differentiated by them.
Vars with_parameters(const Vars& outputs, std::span<const Var> values);

}  // namespace antichain::peer
