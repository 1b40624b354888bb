// How a chain is divided among blocks of threads.
#pragma once

#include <vector>

#include "antichain/backends/cuda/chains/chain_code.h"
#include "antichain/backends/cuda/core/device_context.h"

namespace antichain::cuda {

/// Rows of the states of a chain, and groups of them.
struct ChainRows {
  std::int64_t rows, groups;
  std::int64_t all() const { return rows * groups; }
  std::int64_t blocks(ChainShape shape) const;
};

struct ChainChoice {
  ChainShape shape;
  ChainKernel kernel;
};

/// Says whether a chain can be one kernel. `tf32`: f32 numbers may be rounded for tensor cores.
Support chain_support(Op op, std::size_t most_shared, bool tf32);

/// Returns the choice that is estimated to be the fastest.
ChainChoice estimated_choice(Op op, const ChainBody& body, const ChainRows& rows,
                             const DeviceContext& device);
/// Returns others that may be faster: with more rows per block or fewer, and by slabs or not.
std::vector<ChainChoice> other_choices(Op op, const ChainBody& body, const ChainRows& rows,
                                       const DeviceContext& device, const ChainChoice& estimated);

}  // namespace antichain::cuda
