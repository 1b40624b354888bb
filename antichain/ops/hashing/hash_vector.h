// The codes of one vector, for reference and kernels: T is double or float.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "antichain/ops/hashing/code_pieces.h"
#include "antichain/ops/hashing/hash_functions.h"

namespace antichain {

/// Writes the transformed vector (HashSpec::coordinates()); `extra` is the bias of a row of data
/// and 1 for a query, `largest` the largest norm of the data.
template <class T>
void transform_vector(const HashSpec& spec, HashRole role, const T* vector, T extra, T largest,
                      T* out) {
  const std::int64_t n = spec.features;
  T square = extra * extra;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = vector[i];
    square += vector[i] * vector[i];
  }
  out[n] = extra;
  if (spec.transform == HashTransform::norms) {
    out[n + 1] =
        role == HashRole::data ? std::sqrt(std::max(T(0), largest * largest - square)) : T(0);
  } else if (spec.transform == HashTransform::powers) {
    const T norm = role == HashRole::data ? largest / T(kPowersShrink) : std::sqrt(square);
    const T factor = norm > 0 ? 1 / norm : T(0);
    for (std::int64_t i = 0; i <= n; ++i) {
      out[i] *= factor;
    }
    T power = square * factor * factor;
    for (int k = 0; k < kPowers; ++k, power *= power) {
      out[n + 1 + k] = role == HashRole::data ? power : T(0.5);
    }
  }
}

/// How many of its coordinates a vector is a set of, for minhash.
inline std::int64_t minhash_size(const HashSpec& spec) {
  constexpr std::int64_t kShare = 8;
  return std::max<std::int64_t>(1, spec.coordinates() / kShare);
}

/// Puts the largest coordinates of a vector first, the first ones among equals; `order` is as long
/// as the vector. Returns those.
template <class T>
std::span<const std::int64_t> largest_coordinates(const HashSpec& spec, const T* vector,
                                                  std::span<std::int64_t> order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<std::int64_t>(i);
  }
  const auto size = minhash_size(spec);
  std::partial_sort(order.begin(), order.begin() + size, order.end(),
                    [vector](std::int64_t a, std::int64_t b) {
                      return vector[a] != vector[b] ? vector[a] > vector[b] : a < b;
                    });
  return std::span(order).first(static_cast<std::size_t>(size));
}

template <class T>
CodePiece<T> minhash_piece(const HashSpec& spec, std::span<const std::int64_t> set,
                           const std::int32_t* functions, std::int64_t function) {
  std::int32_t least = std::numeric_limits<std::int32_t>::max(), next = least;
  for (const std::int64_t coordinate : set) {
    const std::int32_t number = functions[coordinate * spec.num_functions() + function];
    if (number < least) {
      next = least;
      least = number;
    } else {
      next = std::min(next, number);
    }
  }
  constexpr std::int32_t kMask = HashSpec::kBin - 1;
  return {least & kMask, next & kMask, static_cast<T>(next) - static_cast<T>(least)};
}

/// Writes the codes [tables, probes] of a transformed vector; `projections` are those of simhash,
/// which others do not need. `order`, as long as the vector, is worked in by minhash.
template <class T>
void hash_vector(const HashSpec& spec, const T* vector, const void* functions, const T* projections,
                 std::int64_t probes, std::int32_t* codes, std::span<std::int64_t> order) {
  const auto* const numbers = static_cast<const std::int32_t*>(functions);
  std::span<const std::int64_t> set;
  if (spec.family == HashFamily::minhash) {
    set = largest_coordinates(spec, vector, order);
  }
  static_assert(HashSpec::kBin == kHashBin);
  const auto coordinate = [vector](std::int32_t i) { return vector[i]; };
  std::array<CodePiece<T>, HashSpec::kMostBits> pieces;
  for (std::int64_t table = 0; table < spec.tables; ++table) {
    for (std::int64_t k = 0; k < spec.pieces; ++k) {
      const std::int64_t function = table * spec.pieces + k;
      CodePiece<T>& piece = pieces[static_cast<std::size_t>(k)];
      switch (spec.family) {
        case HashFamily::simhash: piece = sign_piece(projections[function]); break;
        case HashFamily::wta:
          piece = largest_of_bin<T>(coordinate, numbers + function * HashSpec::kBin, false);
          break;
        case HashFamily::dwta:
          piece = densified_piece<T>(coordinate, numbers, spec.num_functions(), function);
          break;
        case HashFamily::minhash: piece = minhash_piece<T>(spec, set, numbers, function); break;
      }
    }
    join_pieces<T>(pieces.data(), spec.pieces, spec.bits_per_piece(), codes + table * probes,
                   probes);
  }
}

/// Writes v · r for all functions of simhash.
template <class T>
void project_vector(const HashSpec& spec, const T* vector, const float* functions, T* out) {
  std::fill_n(out, spec.num_functions(), T(0));
  for (std::int64_t i = 0; i < spec.coordinates(); ++i) {
    const float* const row = functions + i * spec.num_functions();
    for (std::int64_t j = 0; j < spec.num_functions(); ++j) {
      out[j] += vector[i] * static_cast<T>(row[j]);
    }
  }
}

}  // namespace antichain
