// Attention and its gradient, in double.
#pragma once

#include "antichain/graph/kernel_context.h"

namespace antichain {

/// Computes (q, k, v[, mask]) -> (output, lse).
void attention_reference(KernelContext& context);
/// Computes (grad, q, k, v, output, lse[, mask]) -> (dq, dk, dv), from q, k and v alone.
void attention_gradient_reference(KernelContext& context);

}  // namespace antichain
