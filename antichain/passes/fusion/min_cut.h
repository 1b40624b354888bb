// The cheapest way to part nodes into two sides, found as the greatest flow between them (Ford and
// Fulkerson 1956) by Dinitz's algorithm (1970).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace antichain {

class MinCut {
 public:
  static constexpr std::int64_t kNever = std::int64_t{1} << 60;  // a cost that no cut takes

  /// Returns the number of a new node.
  std::size_t add_node();
  /// Says what it costs when `from` is on the first side and `to` is not.
  void add_cost(std::size_t from, std::size_t to, std::int64_t cost);
  /// Returns for each node whether it is on the first side, with node `first`; node `second` is on
  /// the other. Of the cheapest ways, this is the one with the most nodes on the first side.
  std::vector<bool> first_side(std::size_t first, std::size_t second);

 private:
  struct Edge {
    std::size_t to;
    std::int64_t room;
  };
  // Edge i and i ^ 1 are the two directions of one.
  std::vector<Edge> edges_;
  std::vector<std::vector<std::size_t>> edges_of_;  // by node

  std::vector<std::size_t> distances(std::size_t from) const;
  void fill_paths(std::size_t first, std::size_t second, const std::vector<std::size_t>& distance);
};

}  // namespace antichain
