// Numbers that work is dealt to the threads of a GPU with. They are the same on every GPU.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace antichain::cuda {

/// Threads that run together.
inline constexpr std::int64_t kWarp = 32;

/// Blocks of a launch whose blocks take further work by steps of the whole grid.
inline constexpr std::int64_t kMostBlocks = 1 << 16;

/// Elements below which kernels count in 32 bits.
inline constexpr std::int64_t kMostOf32Bits = std::int64_t{1} << 31;

constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Returns the smallest power of two that is not below `least`.
constexpr std::int64_t power_of_two(std::int64_t least) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(least, 1))));
}

}  // namespace antichain::cuda
