// What is added to products in a chain's body, so that their sums begin with it instead of waiting
// for an addition behind the last factor.
#pragma once

#include <map>
#include <set>

#include "antichain/backends/cuda/chains/chain_body.h"

namespace antichain::cuda {

class SumStarts {
 public:
  /// Finds the additions of whole runs of `units` columns of a product, which nobody else reads,
  /// and of what is there before the step: states, sequences and captured values.
  SumStarts(const ChainBody& body, std::int64_t units);

  /// What the sums of a run of a product's columns begin with; nullptr: 0. Of an operand that has
  /// several runs, `run` says which.
  struct Start {
    ChainOperand operand;
    std::int64_t run;
  };
  const Start* of(int product_value, std::int64_t run) const;
  /// Returns which input of an addition is its result already; -1: it is to be computed.
  int result_of(Op addition) const;

 private:
  std::map<std::pair<int, std::int64_t>, Start> starts_;
  std::map<OpId, int> done_;
};

}  // namespace antichain::cuda
