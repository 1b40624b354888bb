// Locality-sensitive hash functions: vectors with a large inner product fall into one bucket more
// often than others. A vector has `tables` codes; each is put together of `bits_per_table` pieces.
//
// Families, by what a piece of a code is (v is the vector, transformed as below):
//   simhash  the sign of v · r, r drawn from {-1, 0, 1}            1 bit     (Charikar, 2002)
//   wta      which of 8 drawn coordinates of v is the largest      3 bits    (Yagnik et al., 2011)
//   dwta     likewise among those that are not 0; where all of a bin are 0, another bin's piece
//                                                          (Chen and Shrivastava, 2018)
//   minhash  lowest bits of the smallest drawn number among the largest coordinates of v
//                                                          (Broder, 1997; Li and König, 2010)
// Transforms make inner products of query and data angles or distances: both get coordinates more.
//   none        data [w, b], query [q, 1]
//   norms       data [w, b, sqrt(M² - |w, b|²)], query [q, 1, 0], M the largest norm of the data
//                                                          (Neyshabur and Srebro, 2015)
//   powers      data [u, |u|², |u|⁴, |u|⁸] with u = 0.83 [w, b] / M, query [q, 1] / |q, 1| and
//               1/2 three times                             (Shrivastava and Li, 2014)
#pragma once

#include <string>
#include <vector>

#include "antichain/graph/attrs.h"
#include "antichain/ops/hashing/code_pieces.h"
#include "antichain/ops/operand.h"

namespace antichain {

enum class HashFamily { simhash, wta, dwta, minhash };
enum class HashTransform { none, norms, powers };
/// Which of the two a vector is: what is stored in tables, or what is looked for.
enum class HashRole { data, query };

/// Describes hash functions.
struct HashSpec {
  HashFamily family = HashFamily::simhash;
  HashTransform transform = HashTransform::norms;
  std::int64_t pieces = 9;    // of a code: K
  std::int64_t tables = 50;   // codes of a vector: L
  std::int64_t features = 0;  // coordinates of a vector before it is transformed
  // Buckets of a table that codes are folded into, where there are more codes; 0: a bucket each.
  std::int64_t range = 0;

  static const std::vector<std::string>& family_names();
  static const std::vector<std::string>& transform_names();
  /// Reads the attributes that attributes() describes.
  static HashSpec of(const Attrs& attrs);
  static std::vector<AttrSpec> attribute_specs();
  void add_to(Attrs& attrs) const;

  int bits_per_piece() const { return family == HashFamily::simhash ? 1 : kChoiceBits; }
  std::int64_t bits() const { return pieces * bits_per_piece(); }
  bool folds() const { return range > 0 && range < std::int64_t{1} << bits(); }
  /// Returns how many buckets a table has.
  std::int64_t num_codes() const { return folds() ? range : std::int64_t{1} << bits(); }
  /// Returns the bucket of a code.
  std::int32_t folded(std::int32_t code) const { return folds() ? folded_code(code, range) : code; }
  std::int64_t num_functions() const { return pieces * tables; }
  /// Returns how many coordinates a transformed vector has.
  std::int64_t coordinates() const;
  /// Returns the type and the shape of the tensor that holds the functions' numbers.
  DType functions_dtype() const;
  Shape functions_shape() const;

  static constexpr int kMostBits = 30;  // of a code
  static constexpr int kChoiceBits = 3;
  static constexpr int kBin = 1 << kChoiceBits;  // coordinates that one piece chooses from
};

/// Draws functions.
Var draw_hash_functions(Graph& graph, const HashSpec& spec, const Operand& key);
Var draw_hash_functions(Graph& graph, const HashSpec& spec);

/// What transforms compare norms with: the largest norm of the data, as seen last.
inline constexpr double kPowersShrink = 0.83;  // U of Shrivastava and Li, section 3.5
inline constexpr int kPowers = 3;              // m, ibid.

}  // namespace antichain
