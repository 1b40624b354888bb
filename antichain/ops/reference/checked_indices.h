// How reference kernels read indices.
#pragma once

#include <vector>

#include "antichain/graph/kernel_context.h"

namespace antichain {

/// Returns the indices in row-major order; throws DataError when one is outside an axis of this
/// size.
inline std::vector<std::int64_t> checked_indices(const KernelContext& context, int input,
                                                 std::int64_t size) {
  std::vector<std::int64_t> indices = context.in(input).to_vector<std::int64_t>();
  for (const std::int64_t index : indices) {
    require<DataError>(index >= 0 && index < size, "{}: index {} is outside an axis of size {}",
                       context.where, index, size);
  }
  return indices;
}

}  // namespace antichain
