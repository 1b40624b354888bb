// Which units of a wide layer are active: those that an example is known to need (its true labels),
// those that its hash codes find, and others drawn evenly, so that their sum stands for the rest.
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
  std::int64_t drawn =
      0;  // of these, drawn evenly, at least; what hashing leaves free is drawn, too
  Selection selection = Selection::top;
  std::int64_t threshold = 2;
  bool shared = false;  // by all examples of a batch; else each has its own
};

struct ActiveUnits {
  Var ids;         // i64[examples * active], example by example; shared: [active], rising
  Var correction;  // f32, of the same size: added to values makes sums of exp those of all units
  Var slots;       // i64[labels]: where the value of each label stands among examples * active
  Var found;       // i64[]: units that hashing gave, those of all examples added up
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
  std::int64_t next() {
    at_ += stride_;
    at_ -= at_ >= units_ ? units_ : 0;
    return at_;
  }
  /// Returns how a step orders ids among which there is nothing to choose by.
  std::int64_t rotation() const { return first_; }

 private:
  std::int64_t units_, stride_, first_, at_;
};

const OpDef& active_units_def();

std::vector<const OpDef*> hashing_family();

}  // namespace antichain
