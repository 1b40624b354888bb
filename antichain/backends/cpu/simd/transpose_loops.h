// What the sources compiled per level give to strided copies: transposing a block.
#pragma once

#include <cstddef>

#include "antichain/backends/cpu/movement/copy_plan.h"
#include "antichain/backends/cpu/simd/level.h"

namespace antichain::cpu {

/// Returns the loop that copies a block of elements of 1, 2, 4 or 8 bytes whose source is packed
/// along `row` and whose target is packed along `run`.
template <SimdLevel>
[[gnu::visibility("hidden")]] CopyBlock transpose_loop(std::size_t element_bytes);

}  // namespace antichain::cpu
