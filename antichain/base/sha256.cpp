#include "antichain/base/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace antichain {

namespace {

// FIPS 180-4, section 4.2.2: the fractions of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void Sha256::add(std::span<const std::byte> bytes) {
  num_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kBlock - num_pending_);
    std::copy_n(bytes.begin(), count, pending_.begin() + static_cast<std::ptrdiff_t>(num_pending_));
    num_pending_ += count;
    bytes = bytes.subspan(count);
    if (num_pending_ == kBlock) {
      digest_block(pending_);
      num_pending_ = 0;
    }
  }
}

std::string Sha256::finish() {
  const std::uint64_t bits = 8 * num_bytes_;
  constexpr std::size_t kLength = sizeof(bits);
  constexpr std::array kOne = {std::byte{0x80}}, kZero = {std::byte{0}};
  add(kOne);
  while (num_pending_ != kBlock - kLength) {
    add(kZero);
  }
  std::array<std::byte, kLength> length{};
  for (std::size_t i = 0; i < kLength; ++i) {
    length[i] = static_cast<std::byte>(bits >> 8 * (kLength - 1 - i));
  }
  add(length);
  std::string digits;
  for (const std::uint32_t word : state_) {
    digits += fmt::format("{:08x}", word);
  }
  return digits;
}

void Sha256::digest_block(std::span<const std::byte, kBlock> block) {
  std::array<std::uint32_t, 64> schedule{};
  for (std::size_t i = 0; i < kBlock; ++i) {
    schedule[i / 4] = schedule[i / 4] << 8 | std::to_integer<std::uint32_t>(block[i]);
  }
  for (std::size_t i = 16; i < schedule.size(); ++i) {
    const std::uint32_t a = schedule[i - 15], b = schedule[i - 2];
    schedule[i] = schedule[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
                  schedule[i - 7] + (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + kConstants[i] + schedule[i];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) {
    state_[i] += added[i];
  }
}

}  // namespace antichain
