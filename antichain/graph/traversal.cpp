#include "antichain/graph/traversal.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace antichain {

namespace {

// The ops that were met, by id. A region's ops lie close together.
class OpMarks {
 public:
  OpMarks(const Graph& graph, RegionId region) {
    const std::vector<OpId>& ops = graph.region(region).ops;
    first_ = ops.empty() ? 0 : ops.front().value;
    marks_.resize(ops.empty() ? 0 : ops.back().value - first_ + 1);
  }
  /// Returns whether the mark is new.
  bool add(OpId id) {
    const std::size_t at = id.value - first_;
    const bool is_new = !marks_[at];
    marks_[at] = true;
    return is_new;
  }
  std::vector<OpId> in_build_order() const {
    std::vector<OpId> ids;
    for (std::size_t at = 0; at < marks_.size(); ++at) {
      if (marks_[at]) {
        ids.push_back(OpId{first_ + static_cast<std::uint32_t>(at)});
      }
    }
    return ids;
  }

 private:
  std::uint32_t first_ = 0;
  std::vector<bool> marks_;
};

std::vector<OpId> collect_needed(Graph& graph, std::span<const Var> values,
                                 std::span<const Op> ops) {
  if (values.empty() && ops.empty()) {
    return {};
  }
  OpMarks needed(graph, ops.empty() ? graph.region_of(values[0]) : graph.region_of(ops[0]));
  std::vector<OpId> pending;
  const auto visit = [&](OpId id) {
    if (needed.add(id)) {
      pending.push_back(id);
    }
  };
  const auto visit_producer = [&](Var value) {
    if (!graph.is_region_param(value)) {
      visit(value.producer().id());
    }
  };
  std::for_each(values.begin(), values.end(), visit_producer);
  for (Op op : ops) {
    visit(op.id());
  }
  while (!pending.empty()) {
    const Op op = graph.op(pending.back());
    pending.pop_back();
    for (int i = 0; i < op.num_inputs(); ++i) {
      visit_producer(op.input(i));
    }
    for (const ControlEdge& edge : op.control_edges()) {
      if (edge.required) {
        visit(edge.before);
      }
    }
    for (Op finder : graph.size_finders(op)) {
      visit(finder.id());
    }
  }
  return needed.in_build_order();
}

// Build order breaks only where a user's control edge points backwards; then sort by edges (Kahn),
// lowest id first.
std::vector<OpId> sort_by_edges(Graph& graph, const std::vector<OpId>& needed) {
  const std::unordered_set<OpId> members(needed.begin(), needed.end());
  std::unordered_map<OpId, std::vector<OpId>> followers;
  std::unordered_map<OpId, int> waiting;
  const auto add_edge = [&](OpId before, OpId after) {
    if (members.contains(before)) {
      followers[before].push_back(after);
      ++waiting[after];
    }
  };
  for (OpId id : needed) {
    const Op op = graph.op(id);
    for (int i = 0; i < op.num_inputs(); ++i) {
      if (!graph.is_region_param(op.input(i))) {
        add_edge(op.input(i).producer().id(), id);
      }
    }
    for (const ControlEdge& edge : op.control_edges()) {
      add_edge(edge.before, id);
    }
    for (Op finder : graph.size_finders(op)) {
      add_edge(finder.id(), id);
    }
  }
  std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
  for (OpId id : needed) {
    if (waiting[id] == 0) {
      ready.push(id);
    }
  }
  std::vector<OpId> order;
  while (!ready.empty()) {
    const OpId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (OpId follower : followers[id]) {
      if (--waiting[follower] == 0) {
        ready.push(follower);
      }
    }
  }
  if (order.size() != needed.size()) {
    std::string names;
    for (OpId id : needed) {
      if (waiting[id] > 0) {
        names += (names.empty() ? "" : ", ") + graph.op(id).describe();
      }
    }
    fail<InvalidArgument>("a cycle: these ops wait for each other: {}", names);
  }
  return order;
}

}  // namespace

std::vector<Op> schedule(Graph& graph, std::span<const Var> values, std::span<const Op> ops) {
  std::vector<OpId> order = collect_needed(graph, values, ops);
  const bool build_order_holds = std::all_of(order.begin(), order.end(), [&](OpId id) {
    const auto edges = graph.op(id).control_edges();
    return std::all_of(edges.begin(), edges.end(),
                       [id](const ControlEdge& edge) { return edge.before < id; });
  });
  if (!build_order_holds) {
    order = sort_by_edges(graph, order);
  }
  std::vector<Op> result;
  result.reserve(order.size());
  for (OpId id : order) {
    result.push_back(graph.op(id));
  }
  return result;
}

std::vector<Op> schedule_region(Graph& graph, RegionId region) {
  return schedule(graph, graph.vars(graph.region(region).results));
}

}  // namespace antichain
