#include "antichain/data/cora.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "antichain/base/error.h"
#include "antichain/data/folder.h"
#include "antichain/data/text_lines.h"

namespace antichain::data {

namespace {

// Sizes of dense matrices follow from these, so they are held to what graphs like this have.
constexpr std::int64_t kMaxFeatures = std::int64_t{1} << 24, kMaxClasses = std::int64_t{1} << 16;

SparseRows read_features(ByteSource& source, bool normalise) {
  std::vector<std::vector<std::int32_t>> rows;
  std::int64_t num_columns = 0;
  LineReader lines(source);
  for (std::string_view line; lines.next(line);) {
    std::vector<std::int32_t>& row = rows.emplace_back();
    while (!line.empty()) {
      const std::int64_t column =
          parse_within(cut(line, " "), 0, kMaxFeatures - 1, "a feature", lines);
      require<DataError>(row.empty() || column > row.back(),
                         "{}: feature {} comes after {}; they must ascend", lines.line_in_file(),
                         column, row.empty() ? 0 : row.back());
      row.push_back(static_cast<std::int32_t>(column));
      num_columns = std::max(num_columns, column + 1);
    }
  }
  SparseRows features(num_columns);
  for (const std::vector<std::int32_t>& row : rows) {
    const float value =
        normalise ? 1.0F / static_cast<float>(std::max<std::size_t>(row.size(), 1)) : 1.0F;
    features.add(row, std::vector<float>(row.size(), value));
  }
  return features;
}

void read_split(ByteSource& source, CitationGraph& graph) {
  LineReader lines(source);
  std::int64_t node = 0;
  for (std::string_view line; lines.next(line); ++node) {
    if (line == "train") {
      graph.train.push_back(node);
    } else if (line == "val") {
      graph.validation.push_back(node);
    } else if (line == "test") {
      graph.test.push_back(node);
    } else {
      require<DataError>(line == "none", "{}: found '{}'; accepted: train, val, test, none",
                         lines.line_in_file(), line.substr(0, 40));
    }
  }
  require<DataError>(node == graph.num_nodes(), "{} has {} lines, there are {} nodes",
                     source.name(), node, graph.num_nodes());
}

std::vector<Edge> read_edges(ByteSource& source, std::int64_t num_nodes) {
  LineReader lines(source);
  std::vector<Edge> edges;
  for (std::string_view line; lines.next(line);) {
    const std::string_view first = cut(line, "\t ");
    const std::int64_t from = parse_within(first, 0, num_nodes - 1, "a node", lines);
    edges.emplace_back(from, parse_within(line, 0, num_nodes - 1, "a node", lines));
  }
  return edges;
}

}  // namespace

SparseRows normalised_adjacency(std::int64_t num_nodes, std::span<const Edge> edges) {
  require(num_nodes >= 0 && num_nodes <= std::numeric_limits<std::int32_t>::max(),
          "a graph cannot have {} nodes here", num_nodes);
  std::vector<std::vector<std::int32_t>> neighbours(static_cast<std::size_t>(num_nodes));
  const auto join = [&](std::int64_t from, std::int64_t to) {
    neighbours[static_cast<std::size_t>(from)].push_back(static_cast<std::int32_t>(to));
  };
  for (std::int64_t node = 0; node < num_nodes; ++node) {
    join(node, node);
  }
  for (const auto& [a, b] : edges) {
    require(std::min(a, b) >= 0 && std::max(a, b) < num_nodes,
            "an edge joins {} and {}; there are {} nodes, counted from 0", a, b, num_nodes);
    join(a, b);
    join(b, a);
  }
  for (std::vector<std::int32_t>& row : neighbours) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
  SparseRows adjacency(num_nodes);
  for (const std::vector<std::int32_t>& row : neighbours) {
    std::vector<float> values;
    for (const std::int32_t column : row) {
      const std::size_t degree = neighbours[static_cast<std::size_t>(column)].size();
      values.push_back(static_cast<float>(
          1 / std::sqrt(static_cast<double>(row.size()) * static_cast<double>(degree))));
    }
    adjacency.add(row, values);
  }
  return adjacency;
}

CitationGraph read_citation_graph(const CitationFiles& files, const CitationOptions& options) {
  SparseRows features = read_features(files.features, options.normalise_features);
  const std::int64_t num_nodes = features.size();
  const std::vector<std::int64_t> labels =
      read_integers(files.labels, 0, kMaxClasses - 1, "a class");
  require<DataError>(static_cast<std::int64_t>(labels.size()) == num_nodes,
                     "{} has {} lines, there are {} nodes", files.labels.name(), labels.size(),
                     num_nodes);
  CitationGraph graph{
      .features = std::move(features),
      .adjacency = normalised_adjacency(num_nodes, read_edges(files.edges, num_nodes)),
      .labels = Tensor::of<std::int64_t>({num_nodes}, labels),
      .num_classes = labels.empty() ? 0 : *std::max_element(labels.begin(), labels.end()) + 1};
  read_split(files.split, graph);
  return graph;
}

CitationGraph cora(const std::filesystem::path& folder, const CitationOptions& options) {
  const SetFolder set(folder, "cora");
  const auto open = [&](const char* name) { return open_file(set.find({name})); };
  const auto features = open("features.txt"), labels = open("labels.txt"),
             split = open("split.txt"), edges = open("edges.tsv");
  CitationGraph graph = read_citation_graph({*features, *labels, *split, *edges}, options);
  graph.class_names = {"theory",          "reinforcement learning", "genetic algorithms",
                       "neural networks", "probabilistic methods",  "case based",
                       "rule learning"};
  return graph;
}

}  // namespace antichain::data
