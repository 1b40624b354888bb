// Random graphs for property tests: whatever a pass does to one, its results stay what they were.
#pragma once

#include <cstdint>
#include <vector>

#include "antichain/runtime/executable.h"

namespace antichain {

/// A value with what the generator knows about it.
struct DrawnValue {
  Var var;
  double bound = 0;  // no element is larger than this
  /// How far the value may be off when ops round differently, relative to the largest element where
  /// that is above 1; 0: it has the same bits however it is computed.
  double tolerance = 0;
};

struct RandomGraph {
  std::vector<DrawnValue> outputs;
  std::vector<Var> updates;  // of states
  std::vector<Feeds> feeds;  // for a few runs, at different sizes
};

/// Draws a graph of `num_ops` draws, each an op or a few: element-wise ops with broadcasting,
/// comparisons, reductions, some broadcast back, matrix products, ops that move elements, norms,
/// bodies of chains, conds and calls, states and random ops, in f32, f64, bf16, i64 and bool, at
/// sizes that are in part symbols; and gradients of some of its values. The same seed draws the
/// same graph.
RandomGraph random_graph(Graph& graph, std::uint32_t seed, int num_ops);

}  // namespace antichain
