// Chains whose states are rows of 32 numbers at most, a warp per row: a lane keeps its unit of
// every value, and its columns of every matrix, in registers, and no thread waits for another warp.
#pragma once

#include "antichain/backends/cuda/chain_code.h"

namespace antichain::cuda {

/// Returns whether a chain is that narrow: f32 values, all as wide as the first state, some times
/// as wide, or one number; matrices that stay the same over all steps.
Support narrow_chain_support(const ChainBody& body);

/// Returns the kernel, whose arguments are those of chain_kernel; a block is one warp.
ChainKernel narrow_chain_kernel(Op chain, const ChainBody& body);

}  // namespace antichain::cuda
