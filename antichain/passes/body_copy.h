// BodyCopy: several ops of a region, copied into the body of one.
#pragma once

#include <span>
#include <vector>

#include "antichain/graph/clone.h"
#include "antichain/graph/graph.h"

namespace antichain {

/// Copies ops into a body, one by one, and then makes the op that runs it.
class BodyCopy {
 public:
  explicit BodyCopy(Cloner& cloner) : cloner_(cloner), scope_(cloner.target()) {}

  /// Copies an op, with the plain numbers that it reads.
  void copy(Op op);
  /// Adds an op of this kind whose outputs are `results` of what was copied; from then on they
  /// stand for `originals`.
  void finish(std::span<const Var> results, std::span<const Var> originals, const OpDef& def);

 private:
  Cloner& cloner_;
  RegionScope scope_;
  std::vector<Var> numbers_, outer_numbers_;  // originals, and what stands for them outside
  Place place_;                               // of the last op
};

}  // namespace antichain
