// A random graph of texts that cite each other, of the size of a known one.
#pragma once

#include <cstdint>

#include "antichain/antichain.h"

namespace antichain::bench {

struct GraphSizes {
  std::int64_t nodes, edges, features, words, classes;
};
inline constexpr GraphSizes kCora = {
    .nodes = 2708, .edges = 5278, .features = 1433, .words = 49216, .classes = 7};

/// Returns the normalised adjacency of edges between random nodes.
data::SparseRows random_edges(const GraphSizes& sizes);
/// Returns the words of each node: rows of ones, as many in all as `words` says, roughly.
data::SparseRows random_words(const GraphSizes& sizes);

}  // namespace antichain::bench
