// Which ops of a region compute with channels last: those for which the copies at the borders cost
// less than the ops save. Exactly so, by a cut: ops are on one of two sides, a value whose producer
// and readers are not on one side is copied, and an op on the wrong side costs what it would have
// saved there.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>

#include "antichain/graph/graph.h"
#include "antichain/graph/op_def.h"
#include "antichain/passes/compiler_options.h"

namespace antichain {

/// The ops that compute with channels last, and how.
using ChosenLayouts = std::unordered_map<OpId, ChannelsLast>;

/// Chooses for the ops of a region, whose parameters and `results` keep their layout. Sizes that
/// are not known count as 1.
ChosenLayouts cheapest_layouts(std::span<const Op> ops, std::span<const Var> results,
                               const LayoutGain& gain);

}  // namespace antichain
