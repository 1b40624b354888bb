#include "benchmarks/citation_graph.h"

#include <random>

namespace antichain::bench {

data::SparseRows random_edges(const GraphSizes& sizes) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> node(0, sizes.nodes - 1);
  std::vector<data::Edge> edges;
  for (std::int64_t i = 0; i < sizes.edges; ++i) {
    edges.emplace_back(node(random), node(random));
  }
  return data::normalised_adjacency(sizes.nodes, edges);
}

data::SparseRows random_words(const GraphSizes& sizes) {
  std::mt19937 random(2);
  std::bernoulli_distribution present(static_cast<double>(sizes.words) /
                                      static_cast<double>(sizes.nodes * sizes.features));
  data::SparseRows rows(sizes.features);
  for (std::int64_t node = 0; node < sizes.nodes; ++node) {
    std::vector<std::int32_t> columns;
    for (std::int64_t column = 0; column < sizes.features; ++column) {
      if (present(random)) {
        columns.push_back(static_cast<std::int32_t>(column));
      }
    }
    rows.add(columns, std::vector<float>(columns.size(), 1.0F));
  }
  return rows;
}

}  // namespace antichain::bench
