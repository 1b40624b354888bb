// Sums over copies, by a tree that their numbers alone decide: copies 0 and 1, 2 and 3, then the
// first four, and so on. In groups of a power of two any split has the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::likelihood {

/// How many copies there are, and how many are computed at once.
struct CopySplit {
  std::int64_t draws, at_once;

  bool is_whole() const { return at_once == 0 || at_once >= draws; }
};

/// Returns the numbers of all copies.
Var all_copies(Graph& graph, std::int64_t draws);
/// Returns the sum over the first axis, which counts copies.
Var sum_of_copies(Var values);
/// Returns the sums over all copies of what `of_copies(numbers)` sums over some; `zeros` has their
/// types and shapes. No group begins before the one before it has ended.
Vars sum_over_copies(Graph& graph, CopySplit split, const Vars& zeros,
                     const std::function<Vars(Var numbers)>& of_copies);
/// Returns what `of_copies(numbers)` finds for some copies, [copies, ...], for all of them, group
/// by group likewise.
Vars join_copies(Graph& graph, CopySplit split, const std::function<Vars(Var numbers)>& of_copies,
                 Place place);

}  // namespace antichain::likelihood
