#include "antichain/passes/elementwise_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <unordered_set>

#include "antichain/ops/fused.h"

namespace antichain {

namespace {

constexpr std::size_t kMaxOps = 48;  // of a group: more would not fit into the nearest cache

bool may_fuse(Op op) {
  // What waits, or may find that sizes do not match, stays by itself.
  return is_elementwise(op.def()) && op.control_edges().empty() &&
         op.graph().constraints(op).empty();
}

struct HashShape {
  std::size_t operator()(const Dims& shape) const {
    std::size_t hash = shape.size();
    for (Dim dim : shape) {
      hash = hash * 31 + dim.hash();
    }
    return hash;
  }
};

}  // namespace

ElementwiseGroups::ElementwiseGroups(Graph& graph, std::span<const Op> ops)
    : graph_(graph), ops_(ops) {
  for (Index n = 0; n < ops.size(); ++n) {
    position_[ops[n].id()] = n;
  }
  find_ranks();
  sink();
  connect();
  cut();
  order();
}

ElementwiseGroups::Index ElementwiseGroups::maker(Var value) const {
  if (graph_.is_region_param(value)) {
    return kNone;
  }
  const auto found = position_.find(value.producer().id());
  return found == position_.end() ? kNone : found->second;
}

// Calls f(op, by_data) for what an op of the list needs: what makes its inputs, and what it waits
// for.
template <class F>
void ElementwiseGroups::for_each_op_before(Index n, F f) const {
  const auto call = [&](OpId id, bool by_data) {
    if (const auto found = position_.find(id); found != position_.end()) {
      f(found->second, by_data);
    }
  };
  const Op op = ops_[n];
  for (int i = 0; i < op.num_inputs(); ++i) {
    if (!graph_.is_region_param(op.input(i))) {
      call(op.input(i).producer().id(), true);
    }
  }
  for (const ControlEdge& edge : op.control_edges()) {
    call(edge.before, false);
  }
  for (Op finder : graph_.size_finders(op)) {
    call(finder.id(), false);
  }
}

void ElementwiseGroups::find_ranks() {
  std::unordered_set<OpId> waited_for;  // an edge cannot lead into the body of another op
  for (Op op : ops_) {
    for (const ControlEdge& edge : op.control_edges()) {
      waited_for.insert(edge.before);
    }
  }
  std::unordered_map<Dims, Index, HashShape> shapes;
  shape_.assign(ops_.size(), kNone);
  rank_.assign(ops_.size(), 0);
  for (Index n = 0; n < ops_.size(); ++n) {
    if (may_fuse(ops_[n]) && !waited_for.contains(ops_[n].id())) {
      const auto number = static_cast<Index>(shapes.size());
      shape_[n] = shapes.try_emplace(ops_[n].output().shape(), number).first->second;
    }
    for_each_op_before(n, [&](Index before, bool by_data) {
      const bool together = by_data && shape_[n] != kNone && shape_[n] == shape_[before];
      rank_[n] = std::max(rank_[n], rank_[before] + (together ? 0 : 1));
    });
  }
}

// An op whose readers are all in one later group of the same shape goes there, unless that keeps
// more in memory for longer. What it needs has lower ranks, so they still do not fall.
void ElementwiseGroups::sink() {
  std::vector<Index> wanted(ops_.size(), kNone);
  std::vector<bool> stays(ops_.size(), false);
  for (auto n = static_cast<Index>(ops_.size()); n-- > 0;) {
    if (shape_[n] != kNone && !stays[n] && wanted[n] != kNone && !keeps_more(n)) {
      rank_[n] = wanted[n];
    }
    for_each_op_before(n, [&](Index before, bool by_data) {
      stays[before] = stays[before] || !by_data || shape_[n] != shape_[before] ||
                      (wanted[before] != kNone && wanted[before] != rank_[n]);
      wanted[before] = rank_[n];
    });
  }
}

// Whether the inputs of an op take more memory than its result.
bool ElementwiseGroups::keeps_more(Index n) const {
  const Var result = ops_[n].output();
  std::size_t bytes = 0;
  for (Var input : ops_[n].inputs()) {
    bytes += input.shape() == result.shape() ? size_of(input.dtype()) : 0;
  }
  return bytes > size_of(result.dtype());
}

void ElementwiseGroups::connect() {
  parent_.resize(ops_.size());
  std::iota(parent_.begin(), parent_.end(), Index{0});
  std::map<std::pair<Index, VarId>, Index> readers;  // the first one, by rank and what it reads
  for (Index n = 0; n < ops_.size(); ++n) {
    if (shape_[n] == kNone) {
      continue;
    }
    const auto join = [&](Index other) {
      if (shape_[other] == shape_[n] && rank_[other] == rank_[n]) {
        parent_[root(n)] = root(other);
      }
    };
    for (Var input : ops_[n].inputs()) {
      if (const Index before = maker(input); before != kNone) {
        join(before);
      }
      if (input.shape() == ops_[n].output().shape()) {
        join(readers.try_emplace({rank_[n], input.id()}, n).first->second);
      }
    }
  }
}

// Numbers the groups; one that is too long is cut along the order of its ops.
void ElementwiseGroups::cut() {
  std::unordered_map<Index, Index> open;  // the group that a root's ops go to at present
  group_.resize(ops_.size());
  for (Index n = 0; n < ops_.size(); ++n) {
    const auto next = static_cast<Index>(groups_.size());
    const auto [entry, is_new] = open.try_emplace(root(n), next);
    if (!is_new && groups_[entry->second].size() == kMaxOps) {
      entry->second = next;
    }
    if (entry->second == next) {
      groups_.emplace_back();
    }
    group_[n] = entry->second;
    groups_[entry->second].push_back(n);
  }
}

// Sorts the groups by what they need (Kahn), otherwise by their first ops.
void ElementwiseGroups::order() {
  std::vector<std::vector<Index>> followers(groups_.size());
  std::vector<std::size_t> waiting(groups_.size(), 0);
  for (Index n = 0; n < ops_.size(); ++n) {
    for_each_op_before(n, [&](Index before, bool) {
      if (group_[before] != group_[n]) {
        followers[group_[before]].push_back(group_[n]);
        ++waiting[group_[n]];
      }
    });
  }
  using Entry = std::pair<Index, Index>;  // (first op, group)
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto free = [&](Index group) { ready.emplace(groups_[group].front(), group); };
  for (Index group = 0; group < groups_.size(); ++group) {
    if (waiting[group] == 0) {
      free(group);
    }
  }
  std::vector<std::vector<Index>> ordered;
  while (!ready.empty()) {
    const Index group = ready.top().second;
    ready.pop();
    for (const Index follower : followers[group]) {
      if (--waiting[follower] == 0) {
        free(follower);
      }
    }
    ordered.push_back(groups_[group]);
  }
  ensure(ordered.size() == groups_.size(), "groups of element-wise ops wait for each other");
  groups_ = std::move(ordered);
}

ElementwiseGroups::Index ElementwiseGroups::root(Index n) {
  while (parent_[n] != n) {
    n = parent_[n] = parent_[parent_[n]];
  }
  return n;
}

}  // namespace antichain
