// The adjoint of a chain, which is a chain again: the same solver solves it.
#pragma once

#include "antichain/graph/derivative_context.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::multigrid {

/// Returns the gradients of the inputs of a chain that `context` needs. The gradients λ of the
/// states follow from a chain λ[n] = J[n]ᵀ λ[n + 1] + l[n] that names `engine`; those of sequences
/// and captured values from all λ at once.
Vars differentiate_by_adjoint(const VjpContext& context, const EngineChoice& engine);

}  // namespace antichain::multigrid
