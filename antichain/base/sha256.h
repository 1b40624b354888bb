// SHA-256 (FIPS 180-4), to tell whether a file is the one that was published.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace antichain {

class Sha256 {
 public:
  /// Adds bytes to what is digested.
  void add(std::span<const std::byte> bytes);
  /// Ends the digest and returns it as 64 hexadecimal digits.
  std::string finish();

 private:
  static constexpr std::size_t kBlock = 64;  // bytes

  void digest_block(std::span<const std::byte, kBlock> block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlock> pending_ = {};
  std::size_t num_pending_ = 0;
  std::uint64_t num_bytes_ = 0;
};

}  // namespace antichain
