// What the reference, kernels of the CPU and kernels of a GPU share: pieces of codes, codes made of
// them, and which ids stay in a bucket. T is double or float.
#pragma once

#include <bit>
#include <cstdint>

#include "antichain/base/philox.h"

namespace antichain {

inline constexpr std::int32_t kHashBin = 8;  // coordinates that one piece chooses from

template <class T>
constexpr T kEndless = static_cast<T>(std::bit_cast<double>(std::uint64_t{0x7FF0000000000000}));

/// What a piece of a code is, and what it would be with the least change of the vector.
template <class T>
struct CodePiece {
  std::int32_t value, other;
  T gap;  // how far the vector is from the other one
};

template <class T>
CodePiece<T> sign_piece(T projection) {
  const std::int32_t bit = projection > 0 ? 1 : 0;
  return {bit, 1 - bit, projection < 0 ? -projection : projection};
}

/// Chooses the largest of a bin's coordinates; those that are 0 do not count where `skip_zeros`.
/// coordinate(i) is one of the vector. Returns a piece of value -1 where none is left.
template <class T, class Coordinate>
CodePiece<T> largest_of_bin(const Coordinate& coordinate, const std::int32_t* bin,
                            bool skip_zeros) {
  CodePiece<T> piece{-1, -1, kEndless<T>};
  T first = -kEndless<T>, second = -kEndless<T>;
  for (std::int32_t i = 0; i < kHashBin; ++i) {
    const T x = coordinate(bin[i]);
    if (skip_zeros && x == 0) {
      continue;
    }
    if (x > first || piece.value < 0) {
      second = first;
      piece.other = piece.value;
      first = x;
      piece.value = i;
    } else if (x > second || piece.other < 0) {
      second = x;
      piece.other = i;
    }
  }
  if (piece.other >= 0) {
    piece.gap = first - second;
  } else {
    piece.other = piece.value;
  }
  return piece;
}

/// Borrows the piece of another bin, the same one for every vector, until one is not empty.
template <class T, class Coordinate>
CodePiece<T> densified_piece(const Coordinate& coordinate, const std::int32_t* functions,
                             std::int64_t num_functions, std::int64_t function) {
  constexpr std::uint32_t kMostTries = 64;
  CodePiece<T> piece = largest_of_bin<T>(coordinate, functions + function * kHashBin, true);
  for (std::uint32_t tries = 1; piece.value < 0 && tries <= kMostTries; ++tries) {
    const std::uint32_t word =
        philox({tries, 0}, {static_cast<std::uint32_t>(function), 0, 0, 0})[0];
    const auto other = static_cast<std::int64_t>(word % static_cast<std::uint64_t>(num_functions));
    piece = largest_of_bin<T>(coordinate, functions + other * kHashBin, true);
  }
  return piece.value < 0 ? CodePiece<T>{0, 0, kEndless<T>} : piece;
}

/// Puts a code together, and `probes - 1` codes beside it that differ in one piece, from the
/// smallest gap on (multi-probe, Lv et al., 2007). Gaps of pieces that were used are lost.
template <class T>
void join_pieces(CodePiece<T>* pieces, std::int64_t count, int bits, std::int32_t* codes,
                 std::int64_t probes) {
  std::int32_t code = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    code |= pieces[k].value << (static_cast<int>(k) * bits);
  }
  codes[0] = code;
  for (std::int64_t probe = 1; probe < probes; ++probe) {
    std::int64_t nearest = 0;
    for (std::int64_t k = 1; k < count; ++k) {
      nearest = pieces[k].gap < pieces[nearest].gap ? k : nearest;
    }
    CodePiece<T>& piece = pieces[nearest];
    codes[probe] = code ^ ((piece.value ^ piece.other) << (static_cast<int>(nearest) * bits));
    piece.gap = kEndless<T>;
  }
}

/// Returns which of `range` buckets a code is folded into. Each of its bits counts: buckets are the
/// leading part of a product with 2^32 divided by the golden ratio (Knuth, 1973, 6.4).
inline std::int32_t folded_code(std::int32_t code, std::int64_t range) {
  constexpr std::uint32_t kGolden = 0x9E3779B1;
  const std::uint64_t spread = static_cast<std::uint32_t>(code) * kGolden;
  return static_cast<std::int32_t>(spread * static_cast<std::uint64_t>(range) >> 32);
}

/// Ranks ids for a reservoir: those of the lowest rank stay in a bucket of this table.
inline std::uint64_t reservoir_rank(std::int64_t table, std::int64_t id) {
  // The finaliser of MurmurHash3 (Appleby), and the id where two are equal.
  std::uint64_t x = static_cast<std::uint64_t>(table) << 32 ^ static_cast<std::uint64_t>(id);
  x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDULL;
  x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53ULL;
  return (x ^ x >> 33) >> 32 << 32 | static_cast<std::uint64_t>(id);
}

}  // namespace antichain
