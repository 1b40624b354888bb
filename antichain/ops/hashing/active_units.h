// Which units of a wide layer are active: those that an example is known to need (its true labels),
// those that its hash codes find, and others drawn evenly, so that their sum stands for the rest.
//
// Evenly drawn units are the beginning of one walk through all units per step, which every example
// takes without the units that it has already. So the first `drawn` of the walk are common to all
// examples of the batch: their values are one dense product, and their rows are read, and updated,
// once. A unit that an example needs and that is common stands there, and nowhere else.
#pragma once

#include <cstdint>

#include "antichain/ops/hashing/hash_tables.h"
#include "antichain/ops/wide/label_losses.h"

namespace antichain {

/// Which of the units that hash tables give are taken, as far as there is room.
enum class Selection {
  vanilla,    // in the order in which tables give them, beginning with another table in each step
  threshold,  // likewise, if so many tables or more give them
  top         // those that the most tables give
};

struct ActiveOptions {
  std::int64_t units = 0;   // of the layer
  std::int64_t active = 0;  // chosen, at most `units`
  // Of these, drawn evenly, at least; what hashing leaves free is drawn, too.
  std::int64_t drawn = 0;
  Selection selection = Selection::top;
  std::int64_t threshold = 2;
  bool shared = false;  // all examples of a batch have the same ones

  /// Returns how many an example has for itself, and how many stand for all examples.
  std::int64_t own() const { return shared ? 0 : active - drawn; }
  std::int64_t common() const { return shared ? active : drawn; }
};

/// What has been chosen. The values of an example are those of its own units, then those of the
/// common ones. Corrections, added to values, make sums of exp those of all units.
struct ActiveUnits {
  Var ids;                // i64[examples * own], example by example
  Var correction;         // f32, likewise
  Var common;             // i64[common]: rising where shared, in the order of the walk otherwise
  Var common_correction;  // f32[examples, common]; shared: [1, common]
  Var slots;              // i64[labels]: where the value of each label stands among all values
  Var found;              // i64[]: units that hashing gave, those of all examples added up
};

/// Chooses active units. `codes` are hash_queries() of the examples, `step` (i64) makes draws
/// differ. Without labels, slots are empty.
ActiveUnits active_units(Var codes, const HashTables& tables, const LabelRows& truth, Var step,
                         const ActiveOptions& options);

/// Reads the attributes of an op active_units.
ActiveOptions active_options(const Attrs& attrs);

/// Goes through all ids below `units`, each once, in an order that looks random.
class DrawnIds {
 public:
  DrawnIds(std::int64_t units, std::int64_t step);
  /// Returns how far apart ids that follow each other are, modulo their number.
  static std::int64_t stride(std::int64_t units);
  /// Returns how many ids come before this one.
  std::int64_t position(std::int64_t id) const {
    const auto units = static_cast<std::uint64_t>(units_);
    const auto from = static_cast<std::uint64_t>(id + 2 * units_ - first_ - stride_) % units;
    return static_cast<std::int64_t>(from * static_cast<std::uint64_t>(inverse_) % units);
  }
  /// Returns the walk without its first ids.
  DrawnIds behind(std::int64_t count) const {
    DrawnIds rest = *this;
    rest.at_ = (first_ + count % units_ * stride_) % units_;
    return rest;
  }
  std::int64_t next() {
    at_ += stride_;
    at_ -= at_ >= units_ ? units_ : 0;
    return at_;
  }
  /// Returns how a step orders ids among which there is nothing to choose by.
  std::int64_t rotation() const { return first_; }

 private:
  std::int64_t units_, stride_, first_, at_;
  std::int64_t inverse_;  // of the stride, modulo the number of units
};

const OpDef& active_units_def();

std::vector<const OpDef*> hashing_family();

}  // namespace antichain
