// Random elements as pure functions of (key, stream, element number), for every backend.
//
// Philox maps a 64-bit key and a 128-bit counter to a block of four words; for one key it is a
// bijection of counters. With an Antichain key (seed, run), both 64 bits:
//   Philox key        seed, low word first
//   counter words 0-1 draws: stream * 2^40 + block; fold_in: 2^63 + number; low word first
//   counter words 2-3 run, low word first
// Streams are below 2^23 and blocks below 2^40, so no two of (run, stream, block) and (run, number)
// share a counter: under one seed, no two draws share a block, and neither does a derived key.
#pragma once

#include <cmath>
#include <cstdint>

#include "antichain/base/host_device.h"
#include "antichain/base/philox.h"
#include "antichain/base/portable_math.h"

namespace antichain {

inline constexpr int kBlockBits = 40;
inline constexpr std::int64_t kNumStreams = std::int64_t{1} << (63 - kBlockBits);

/// Names a sequence of random blocks.
struct RandomStream {
  std::int64_t seed = 0, run = 0;  // the key
  std::int64_t stream = 0;         // tells apart the ops that draw with one key
};

ANTICHAIN_HOST_DEVICE inline std::uint32_t low_word(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits);
}
ANTICHAIN_HOST_DEVICE inline std::uint32_t high_word(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits >> 32);
}
ANTICHAIN_HOST_DEVICE inline std::uint64_t join_words(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

/// Returns the block at `position`, counter words 0 and 1, of a key.
ANTICHAIN_HOST_DEVICE inline PhiloxBlock key_block(std::int64_t seed, std::int64_t run,
                                                   std::uint64_t position) {
  const auto seed_bits = static_cast<std::uint64_t>(seed),
             run_bits = static_cast<std::uint64_t>(run);
  return philox({low_word(seed_bits), high_word(seed_bits)},
                {low_word(position), high_word(position), low_word(run_bits), high_word(run_bits)});
}

/// Returns block `number` of a stream.
ANTICHAIN_HOST_DEVICE inline PhiloxBlock stream_block(RandomStream stream, std::int64_t number) {
  return key_block(
      stream.seed, stream.run,
      static_cast<std::uint64_t>(stream.stream) << kBlockBits | static_cast<std::uint64_t>(number));
}

/// Returns the key (same stream) derived for `number`, which counts modulo 2^63. The derived seed
/// is words 0 and 1, low word first, the derived run words 2 and 3; different numbers give
/// different keys.
ANTICHAIN_HOST_DEVICE inline RandomStream folded_in(RandomStream stream, std::int64_t number) {
  const PhiloxBlock block = key_block(stream.seed, stream.run,
                                      std::uint64_t{1} << 63 | static_cast<std::uint64_t>(number));
  return {static_cast<std::int64_t>(join_words(block[0], block[1])),
          static_cast<std::int64_t>(join_words(block[2], block[3])), stream.stream};
}

/// Returns 32 random bits: word i % 4 of block i / 4.
ANTICHAIN_HOST_DEVICE inline std::uint32_t random_word(RandomStream stream, std::int64_t i) {
  return stream_block(stream, i / 4)[static_cast<std::size_t>(i % 4)];
}

/// Returns 64 random bits: words 2 * (i % 2) (the low one) and 2 * (i % 2) + 1 of block i / 2.
ANTICHAIN_HOST_DEVICE inline std::uint64_t random_bits(RandomStream stream, std::int64_t i) {
  const PhiloxBlock block = stream_block(stream, i / 2);
  const auto first = static_cast<std::size_t>(2 * (i % 2));
  return join_words(block[first], block[first + 1]);
}

/// Returns what a word is as a draw from [0, 1): a multiple of 2^-24.
ANTICHAIN_HOST_DEVICE inline float uniform_of(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24F;
}
ANTICHAIN_HOST_DEVICE inline float uniform_f32(RandomStream stream, std::int64_t i) {
  return uniform_of(random_word(stream, i));
}

/// Likewise with 64 bits: a multiple of 2^-53.
ANTICHAIN_HOST_DEVICE inline double uniform_of(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}
ANTICHAIN_HOST_DEVICE inline double uniform_f64(RandomStream stream, std::int64_t i) {
  return uniform_of(random_bits(stream, i));
}

/// Transforms u in (0, 1] and v in [0, 1) to one of two independent normal values (Box and Muller,
/// 1958).
ANTICHAIN_HOST_DEVICE inline double box_muller(double u, double v, bool second) {
  return std::sqrt(-2 * portable::log(u)) * portable::wave(v, !second);
}

/// Returns one of the two normal values that two words give.
ANTICHAIN_HOST_DEVICE inline float normal_of(std::uint32_t word_u, std::uint32_t word_v,
                                             bool second) {
  return static_cast<float>(box_muller((word_u + 1.0) * 0x1p-32, word_v * 0x1p-32, second));
}

/// Draws from the normal distribution: elements i = 2j and 2j + 1 are the pair that words 2j and 2j
/// + 1 give.
ANTICHAIN_HOST_DEVICE inline float normal_f32(RandomStream stream, std::int64_t i) {
  const PhiloxBlock block = stream_block(stream, i / 4);
  const auto first = static_cast<std::size_t>(i % 4 / 2 * 2);
  return normal_of(block[first], block[first + 1], i % 2 == 1);
}

/// Likewise with 53 bits: the pair i = 2j and 2j + 1 takes the 64-bit values 2j and 2j + 1, which
/// are block j.
ANTICHAIN_HOST_DEVICE inline double normal_of(std::uint64_t bits_u, std::uint64_t bits_v,
                                              bool second) {
  return box_muller((static_cast<double>(bits_u >> 11) + 1) * 0x1p-53, uniform_of(bits_v), second);
}
ANTICHAIN_HOST_DEVICE inline double normal_f64(RandomStream stream, std::int64_t i) {
  const PhiloxBlock block = stream_block(stream, i / 2);
  return normal_of(join_words(block[0], block[1]), join_words(block[2], block[3]), i % 2 == 1);
}

/// Returns below which of the 2^32 words a draw of that probability, within [0, 1], is true.
ANTICHAIN_HOST_DEVICE inline std::uint64_t bernoulli_threshold(double probability) {
  return static_cast<std::uint64_t>(probability * 0x1p32);
}

ANTICHAIN_HOST_DEVICE inline bool bernoulli(RandomStream stream, std::int64_t i,
                                            std::uint64_t threshold) {
  return random_word(stream, i) < threshold;
}

}  // namespace antichain
