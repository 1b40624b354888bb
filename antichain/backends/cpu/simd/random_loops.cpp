// Blocks of random words. Compiled per level.
#include "antichain/backends/cpu/simd/random_loops.h"

namespace antichain::cpu {

namespace ANTICHAIN_SIMD_LEVEL {

namespace {

[[gnu::flatten, gnu::noinline]] void random_blocks(RandomStream stream, std::int64_t first,
                                                   std::int64_t count, std::uint32_t* words) {
  for (std::int64_t n = 0; n < count; ++n) {
    const PhiloxBlock block = stream_block(stream, first + n);
    words[4 * n] = block[0];
    words[4 * n + 1] = block[1];
    words[4 * n + 2] = block[2];
    words[4 * n + 3] = block[3];
  }
}

}  // namespace

}  // namespace ANTICHAIN_SIMD_LEVEL

template <>
RandomBlocksLoop random_blocks_loop<kSimdLevel>() {
  return ANTICHAIN_SIMD_LEVEL::random_blocks;
}

}  // namespace antichain::cpu
