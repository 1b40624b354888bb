// The text of the kernel for a chain.
#pragma once

#include "antichain/backends/cuda/chains/chain_body.h"

namespace antichain::cuda {

/// How a chain is divided.
struct ChainShape {
  int rows_per_block;  // a power of two; 8 and more only with slabs
  int threads;
  int buffers;    // steps whose sequences lie in shared memory: this one, and those that are read
                  // ahead
  int slabs = 0;  // of matrices that pass through shared memory; 0: it holds whole matrices
};

struct ChainKernel {
  std::string text;  // of the function "chain"
  std::size_t shared_bytes;
};

/// The kernel's argument: length, rows, the addresses of the inputs, those of the outputs; 0 for
/// outputs that nobody wants. Behind them groups, and of each input how many elements lie from step
/// to step and from group to group. Blocks of one group stand beside each other.
ChainKernel chain_kernel(Op chain, const ChainBody& body, ChainShape shape);

}  // namespace antichain::cuda
