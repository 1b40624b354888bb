// What the sources compiled per level give to the ops that draw.
#pragma once

#include <cstdint>

#include "antichain/backends/cpu/simd/level.h"
#include "antichain/base/random_functions.h"

namespace antichain::cpu {

/// Writes `count` blocks of a stream, four words each, from block `first` on.
using RandomBlocksLoop = void (*)(RandomStream stream, std::int64_t first, std::int64_t count,
                                  std::uint32_t* words);

template <SimdLevel>
[[gnu::visibility("hidden")]] RandomBlocksLoop random_blocks_loop();

}  // namespace antichain::cpu
