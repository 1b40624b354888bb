// Cora: a graph of papers that cite each other, in the split of Planetoid (Yang et al., 2016).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "antichain/data/byte_source.h"
#include "antichain/data/sparse_rows.h"

namespace antichain::data {

using Edge = std::pair<std::int64_t, std::int64_t>;

/// A graph whose nodes have features and a class. It is one sample: SparseRows::put gives what the
/// sparse operators take.
struct CitationGraph {
  SparseRows features;                                // [nodes, features]
  SparseRows adjacency;                               // [nodes, nodes], see normalised_adjacency()
  Tensor labels;                                      // i64[nodes]
  std::vector<std::int64_t> train, validation, test;  // numbers of nodes
  std::int64_t num_classes = 0;
  std::vector<std::string> class_names = {};

  std::int64_t num_nodes() const { return features.size(); }
};

/// Returns D^-1/2 (A + I) D^-1/2, where A joins the nodes of every edge both ways and D holds the
/// row sums of A + I (Kipf and Welling, 2017, eq. 2). An edge that is given twice counts once.
SparseRows normalised_adjacency(std::int64_t num_nodes, std::span<const Edge> edges);

/// Sources of the four files of a citation graph.
struct CitationFiles {
  ByteSource& features;  // a line per node: the columns that are 1, ascending, separated by spaces
  ByteSource& labels;    // a line per node: its class, counted from 0
  ByteSource& split;     // a line per node: train, val, test or none
  ByteSource& edges;     // a line per edge: two nodes, separated by a tab
};

struct CitationOptions {
  bool normalise_features = true;  // divides each row by its sum, as Kipf and Welling do
};

/// Reads the four files; throws DataError when they are wrong or do not fit together.
CitationGraph read_citation_graph(const CitationFiles& files, const CitationOptions& options = {});

/// Loads Cora from features.txt, labels.txt, split.txt and edges.tsv.
CitationGraph cora(const std::filesystem::path& folder = {}, const CitationOptions& options = {});

}  // namespace antichain::data
