#include "antichain/engines/scan/stage_cuts.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "antichain/autodiff/walk.h"

namespace antichain::scan {

namespace {

// Ops and values between the starts and the end as the nodes of a tree: the parent of a node is the
// next one that all paths to the end go through (its immediate post-dominator).
class PathTree {
 public:
  PathTree(Graph& graph, std::span<const Var> starts, Var end) {
    for (Var start : starts) {
      starts_.insert(start.id());
    }
    std::unordered_set<VarId> reached = starts_;  // and values that depend on a start
    const auto is_start = [&](Var value) { return starts_.contains(value.id()); };
    std::vector<Op> between;
    for (OpId id : find_ancestors(graph, std::span(&end, 1), Reach::region, is_start)) {
      const Op op = graph.op(id);
      const std::vector<Var> inputs = op.inputs();
      const bool depends = std::ranges::any_of(inputs, [&](Var input) {
        return is_float(input.dtype()) && reached.contains(input.id());
      });
      if (depends && has_derivative(op.def())) {
        between.push_back(op);
        for (Var output : op.outputs()) {
          reached.insert(output.id());
        }
      }
    }
    if (reached.contains(end.id()) && !is_start(end)) {
      nodes_.push_back({end, 0, 0, 0});
      value_nodes_[end.id()] = 0;
    }
    // Consumers come after what they consume.
    for (auto op = between.rbegin(); op != between.rend(); ++op) {
      add_op(*op, reached);
    }
  }

  // The values that everything goes through from the one that is farthest from the end: not from
  // the one with most of them, which may lie on a long branch of a block that others lead into.
  std::vector<Var> way_from_farthest() const {
    std::size_t node = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      node = nodes_[i].distance >= nodes_[node].distance && is_cut(i) ? i : node;
    }
    std::vector<Var> way;
    for (; !nodes_.empty() && node != 0; node = nodes_[node].parent) {
      if (is_cut(node)) {
        way.push_back(nodes_[node].value);
      }
    }
    if (!nodes_.empty()) {
      way.push_back(nodes_[0].value);
    }
    return way;
  }

 private:
  struct Node {
    Var value;  // none for an op
    std::size_t parent;
    std::size_t depth;     // in the tree
    std::size_t distance;  // to the end, along the longest path
  };

  bool is_cut(std::size_t node) const {
    const Var value = nodes_[node].value;
    return value.valid() && !starts_.contains(value.id());
  }

  // The deepest node that both have above them, or are.
  std::size_t meet(std::size_t a, std::size_t b) const {
    while (a != b) {
      std::size_t& deeper = nodes_[a].depth >= nodes_[b].depth ? a : b;
      deeper = nodes_[deeper].parent;
    }
    return a;
  }

  void add_op(Op op, const std::unordered_set<VarId>& reached) {
    std::size_t after = 0, distance = 0;
    bool leads_on = false;
    for (Var output : op.outputs()) {
      const auto found = value_nodes_.find(output.id());
      if (is_float(output.dtype()) && found != value_nodes_.end()) {
        after = leads_on ? meet(after, found->second) : found->second;
        distance = std::max(distance, nodes_[found->second].distance + 1);
        leads_on = true;
      }
    }
    if (!leads_on) {
      return;
    }
    nodes_.push_back({Var(), after, nodes_[after].depth + 1, distance});
    const std::size_t own = nodes_.size() - 1;
    for (Var input : op.inputs()) {
      if (is_float(input.dtype()) && reached.contains(input.id())) {
        add_use(input, own);
      }
    }
  }

  // All ops that use a value are added before the one that makes it, the first to build on its
  // place in the tree.
  void add_use(Var value, std::size_t user) {
    const auto [found, is_new] = value_nodes_.try_emplace(value.id(), nodes_.size());
    if (is_new) {
      nodes_.push_back({value, user, nodes_[user].depth + 1, nodes_[user].distance + 1});
      return;
    }
    Node& node = nodes_[found->second];
    node.parent = meet(node.parent, user);
    node.depth = nodes_[node.parent].depth + 1;
    node.distance = std::max(node.distance, nodes_[user].distance + 1);
  }

  std::unordered_set<VarId> starts_;
  std::vector<Node> nodes_;  // the end comes first
  std::unordered_map<VarId, std::size_t> value_nodes_;
};

}  // namespace

std::vector<Var> find_cuts(Graph& graph, std::span<const Var> starts, Var end) {
  return PathTree(graph, starts, end).way_from_farthest();
}

}  // namespace antichain::scan
