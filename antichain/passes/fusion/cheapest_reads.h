// What a group of element-wise ops had better compute again from other values than read.
//
// A value that one group makes for another is written and read. If what it is made of lies in
// memory anyway, or is needed by the other group, too, reading that instead may move fewer bytes.
// Which values to read so that all that a group needs follows from them is the cheapest cut between
// those and what everything is made of.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <vector>

#include "antichain/passes/fusion/elementwise_groups.h"

namespace antichain {

/// What becomes of a value whatever the group in question reads.
struct ValueLife {
  bool is_written = true;  // it lies in memory
  bool is_kept = true;     // it does so still when the group runs
};

/// Returns the ops of other groups that a group, of these ops, computes for itself, so that it and
/// they move the fewest bytes; none where values would have to be kept that take more memory than
/// those that are not.
std::vector<ElementwiseGroups::Index> cheaper_to_compute(
    const ElementwiseGroups& found, std::span<const Op> ops,
    const std::set<ElementwiseGroups::Index>& group, const std::function<ValueLife(Var)>& life_of);

}  // namespace antichain
