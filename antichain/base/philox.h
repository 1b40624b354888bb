// Philox4x32-10, the counter-based random number generator of Salmon et al. (SC 2011).
//
// A block of four 32-bit words is a pure function of (key, counter). Random operators number their
// elements and derive each from its own number, so results depend neither on thread count nor on
// evaluation order, and a recomputed value is the same value.
#pragma once

#include <array>
#include <cstdint>

namespace antichain {

using PhiloxKey = std::array<std::uint32_t, 2>;
using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Returns the block of four random words that `key` assigns to `counter`.
constexpr PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;  // golden ratio, sqrt(3) - 1
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

}  // namespace antichain
