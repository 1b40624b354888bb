// Chains that keep few of their states and compute the others anew on the way back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/passes/graph_copy.h"

namespace antichain {

/// A chain and the chain by which its derivative walks back, the only one to read its states.
struct ChainPair {
  Op forward, back;
  std::vector<int> state_of;  // per sequence of `back`: which state of `forward` it is, or -1

  Dim length() const { return forward.attrs().get<Dim>("length"); }
};

/// Returns the pairs of a graph whose states need not all be kept, in build order. A chain whose
/// stacked states somebody else reads too has none: they must be there.
std::vector<ChainPair> find_chain_pairs(const GraphCopy& program);

/// Copies a program; the chain of each pair keeps its states in as many rows as `slots` says
/// (antichain/ops/control_flow/replayed_chain.h). What it computes has the same bits.
GraphCopy replay_chains(const GraphCopy& program, std::span<const ChainPair> pairs,
                        std::span<const std::int64_t> slots);

}  // namespace antichain
