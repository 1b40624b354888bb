#include "antichain/backends/cpu/threads/work_blocks.h"

#include <bit>
#include <cmath>

namespace antichain::cpu {

namespace {

constexpr double kSmallWork = 64.0 * 64 * 64;  // multiplications; not worth waking a thread
constexpr std::int64_t kMostBlocks = 64;

}  // namespace

// The fourth root keeps blocks of middling work large and gives large work enough of them.
std::int64_t wanted_blocks(double multiplications) {
  if (multiplications <= kSmallWork) {
    return 1;
  }
  const double blocks = 2 * std::sqrt(std::sqrt(multiplications / kSmallWork));
  return std::min(kMostBlocks,
                  static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(blocks))));
}

}  // namespace antichain::cpu
