#include "antichain/passes/fusion/min_cut.h"

#include <algorithm>
#include <limits>

namespace antichain {

namespace {

constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max();

}  // namespace

std::size_t MinCut::add_node() {
  edges_of_.emplace_back();
  return edges_of_.size() - 1;
}

void MinCut::add_cost(std::size_t from, std::size_t to, std::int64_t cost) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, cost});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

// Of every node from this one, in edges with room.
std::vector<std::size_t> MinCut::distances(std::size_t from) const {
  std::vector<std::size_t> distance(edges_of_.size(), kFar), queue = {from};
  distance[from] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const std::size_t node = queue[next];
    for (const std::size_t edge : edges_of_[node]) {
      const std::size_t to = edges_[edge].to;
      if (edges_[edge].room > 0 && distance[to] == kFar) {
        distance[to] = distance[node] + 1;
        queue.push_back(to);
      }
    }
  }
  return distance;
}

// Fills shortest paths until none has room.
void MinCut::fill_paths(std::size_t first, std::size_t second,
                        const std::vector<std::size_t>& distance) {
  std::vector<std::size_t> tried(edges_of_.size());  // edges of each node that lead nowhere
  std::vector<std::size_t> path;                     // edges
  while (true) {
    const std::size_t node = path.empty() ? first : edges_[path.back()].to;
    if (node == second) {
      const std::size_t narrowest = *std::ranges::min_element(
          path, {}, [this](std::size_t edge) { return edges_[edge].room; });
      const std::int64_t flow = edges_[narrowest].room;
      for (const std::size_t edge : path) {
        edges_[edge].room -= flow;
        edges_[edge ^ 1].room += flow;
      }
      path.clear();
      continue;
    }
    std::size_t& next = tried[node];
    const auto leads_on = [&](std::size_t edge) {
      return edges_[edge].room > 0 && distance[edges_[edge].to] == distance[node] + 1;
    };
    while (next < edges_of_[node].size() && !leads_on(edges_of_[node][next])) {
      ++next;
    }
    if (next < edges_of_[node].size()) {
      path.push_back(edges_of_[node][next]);
    } else if (path.empty()) {
      return;
    } else {
      ++tried[edges_[path.back() ^ 1].to];
      path.pop_back();
    }
  }
}

std::vector<bool> MinCut::first_side(std::size_t first, std::size_t second) {
  for (std::vector<std::size_t> distance = distances(first); distance[second] != kFar;
       distance = distances(first)) {
    fill_paths(first, second, distance);
  }
  // What flow can still reach the second node from is on its side, nothing else need be.
  std::vector<bool> is_first(edges_of_.size(), true);
  std::vector<std::size_t> queue = {second};
  is_first[second] = false;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const std::size_t edge : edges_of_[queue[next]]) {
      const std::size_t from = edges_[edge].to;
      if (edges_[edge ^ 1].room > 0 && is_first[from]) {
        is_first[from] = false;
        queue.push_back(from);
      }
    }
  }
  return is_first;
}

}  // namespace antichain
