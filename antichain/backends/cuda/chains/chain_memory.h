// Which values of a chain take the memory of others: a block has little of it, and more blocks fit
// where a value is written over one that is not read again.
#pragma once

#include <vector>

#include "antichain/backends/cuda/chains/chain_body.h"

namespace antichain::cuda {

/// Returns for each value the one whose memory it lies in, often itself. Element-wise code may
/// write over what it reads, element by element: over values of the body that nobody reads later
/// and, with the next value of a state, over the state.
std::vector<int> memory_of_values(const ChainBody& body, int states);

}  // namespace antichain::cuda
