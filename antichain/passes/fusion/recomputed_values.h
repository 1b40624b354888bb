// Which values are computed again by every group of element-wise ops that reads them, instead of
// being kept in memory between the groups.
//
// Where values are kept in 16 bits and computed in 32, a conversion and an addition or two are done
// sooner than twice the bytes are written and read. So what is computed by a few cheap ops from a
// single narrower value of its shape, or from one that is kept for later anyway, is computed again,
// if all groups that read it can do so. Of what is left, each group reads what takes the fewest
// bytes (cheapest_reads.h), also where all values have one type: the gates of a recurrent layer
// follow from products that lie in memory.
#pragma once

#include <span>
#include <vector>

#include "antichain/graph/id_map.h"
#include "antichain/passes/fusion/elementwise_groups.h"

namespace antichain {

/// Groups of ops as they are to be copied: an op may be in several of them, or in none.
struct CopiedGroups {
  std::vector<std::vector<ElementwiseGroups::Index>> groups;
  std::vector<std::size_t> home;  // by op: the group whose results its outputs may be
  IdSet<VarId> read_outside;      // values that other groups, or others, read
};

/// Returns the groups that were found, with values computed again or, if not `recompute`, without.
CopiedGroups copied_groups(const ElementwiseGroups& found, std::span<const Op> ops,
                           std::span<const Var> results, bool recompute);

}  // namespace antichain
