#include "antichain/passes/fusion/elementwise_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/passes/graph_copy.h"

namespace antichain {

namespace {

constexpr std::size_t kMaxOps = 48;  // of a group: more would not fit into the nearest cache

// Elements that a frame keeps (kFixedBytes of runtime/frame_binder.cpp), of the widest type.
constexpr std::int64_t kFixedElements = 512;

bool may_fold(Op op) {
  return reduces_rows(op) && is_free(op) && !(kept_shape(op) == op.input(0).shape());
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
  find_classes();
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
  return position_(value.producer().id());
}

// Calls f(op, by_data) for what an op of the list needs: what makes its inputs, and what it waits
// for.
template <class F>
void ElementwiseGroups::for_each_op_before(Index n, F f) const {
  const auto call = [&](OpId id, bool by_data) {
    if (const Index before = position_(id); before != kNone) {
      f(before, by_data);
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

void ElementwiseGroups::find_classes() {
  IdSet<OpId> waited_for;  // an edge cannot lead into the body of another op
  for (Op op : ops_) {
    for (const ControlEdge& edge : op.control_edges()) {
      waited_for.insert(edge.before);
    }
  }
  const std::vector<bool> fixed = known_from_sizes();
  std::unordered_map<Dims, Index, HashShape> domains;
  const auto number = [&](const Dims& domain) {
    return domains.try_emplace(domain, static_cast<Index>(domains.size())).first->second;
  };
  role_.assign(ops_.size(), Role::alone);
  class_.assign(ops_.size(), kNone);
  std::vector<std::map<std::vector<bool>, int>> votes;  // by domain: for axes that are reduced
  for (Index n = 0; n < ops_.size(); ++n) {
    if (!may_fold(ops_[n]) || waited_for.contains(ops_[n].id()) || fixed[n]) {
      continue;
    }
    role_[n] = Role::fold;
    class_[n] = number(ops_[n].input(0).shape());
    votes.resize(domains.size());
    rows_.resize(domains.size());
    auto& own = votes[class_[n]];
    const Dims rows = kept_shape(ops_[n]);
    std::vector<bool> axes;
    for (std::size_t axis = 0; axis < rows.size(); ++axis) {
      axes.push_back(rows[axis] == Dim(1));
    }
    const int count = ++own[axes];
    if (std::ranges::all_of(own, [&](const auto& other) { return other.second <= count; })) {
      rows_[class_[n]] = rows;
    }
  }
  for (Index n = 0; n < ops_.size(); ++n) {
    if (role_[n] == Role::fold && !(rows_[class_[n]] == kept_shape(ops_[n]))) {
      role_[n] = Role::alone;
      class_[n] = kNone;
    } else if (is_elementwise(ops_[n].def()) && is_free(ops_[n]) &&
               !waited_for.contains(ops_[n].id()) && !fixed[n]) {
      class_[n] = class_of_rows(n);
      role_[n] = class_[n] != kNone ? Role::row : Role::element;
      class_[n] = class_[n] != kNone ? class_[n] : number(ops_[n].output().shape());
    }
  }
  rows_.resize(domains.size());
}

// Which ops compute small values from sizes and constants alone: a frame does that once, before it
// runs, unless they are part of an op with a body.
std::vector<bool> ElementwiseGroups::known_from_sizes() const {
  std::vector<bool> known(ops_.size(), false);
  for (Index n = 0; n < ops_.size(); ++n) {
    const Op op = ops_[n];
    const Dim count = op.num_outputs() == 1 ? numel(op.output().shape()) : Dim(kFixedElements + 1);
    const std::vector<Var> inputs = op.inputs();
    known[n] = &op.def() != &input_def() && op.def().effect == Effect::none &&
               op.regions().empty() && is_free(op) && count.is_constant() &&
               count.constant() <= kFixedElements && std::ranges::all_of(inputs, [&](Var input) {
                 const Index before = maker(input);
                 return before != kNone && known[before];
               });
  }
  return known;
}

// The class for whose rows an element-wise op computes, by what it reads; or none.
ElementwiseGroups::Index ElementwiseGroups::class_of_rows(Index n) const {
  for (Var input : ops_[n].inputs()) {
    const Index before = maker(input);
    if (before != kNone && (role_[before] == Role::fold || role_[before] == Role::row) &&
        rows_[class_[before]] == ops_[n].output().shape() &&
        input.shape() == ops_[n].output().shape()) {
      return class_[before];
    }
  }
  return kNone;
}

// So going from the one to the other is no step.
bool ElementwiseGroups::together(Index before, Index n) const {
  if (class_[n] == kNone || class_[n] != class_[before]) {
    return false;
  }
  if (role_[before] == Role::element) {
    return role_[n] == Role::element || role_[n] == Role::fold;
  }
  return (role_[n] == Role::element || role_[n] == Role::row) &&
         ops_[before].output().shape() == rows_[class_[n]];
}

// What is there before the run begins, constants and the first reads of states for example, and
// what is computed from it alone has the lowest ranks: no other op can be waited for on the way.
void ElementwiseGroups::find_ranks() {
  std::vector<bool> early(ops_.size(), true);
  for (Index n = 0; n < ops_.size(); ++n) {
    const std::vector<Var> inputs = ops_[n].inputs();
    early[n] = std::ranges::all_of(inputs, [this](Var x) { return maker(x) != kNone; });
    for_each_op_before(n, [&](Index before, bool) { early[n] = early[n] && early[before]; });
  }
  rank_.assign(ops_.size(), 0);
  Index lowest = 0;
  for (const bool now : {true, false}) {
    Index next = lowest;
    for (Index n = 0; n < ops_.size(); ++n) {
      if (early[n] != now) {
        continue;
      }
      rank_[n] = lowest;
      for_each_op_before(n, [&](Index before, bool by_data) {
        const bool step = early[before] != now || !by_data || !together(before, n);
        rank_[n] = std::max(rank_[n], rank_[before] + (step ? 1 : 0));
      });
      next = std::max(next, rank_[n] + 1);
    }
    lowest = next;
  }
}

// An op whose readers are all in one later group of the same class goes there, unless that keeps
// more in memory for longer. What it needs has lower ranks, so they still do not fall.
void ElementwiseGroups::sink() {
  std::vector<Index> wanted(ops_.size(), kNone);
  std::vector<bool> stays(ops_.size(), false);
  std::vector<Index> last(ops_.size(), 0);  // the highest rank of a reader
  // What a reduction reduces is kept for longer if nobody else reads it as late.
  const auto keeps_longer = [&](Index n) {
    const Index from = role_[n] == Role::fold ? maker(ops_[n].input(0)) : kNone;
    return from != kNone && last[from] < wanted[n];
  };
  for (auto n = static_cast<Index>(ops_.size()); n-- > 0;) {
    if (class_[n] != kNone && !stays[n] && wanted[n] != kNone && !keeps_longer(n) &&
        !keeps_more(n)) {
      rank_[n] = wanted[n];
    }
    for_each_op_before(n, [&](Index before, bool by_data) {
      stays[before] = stays[before] || !by_data || !together(before, n) ||
                      (wanted[before] != kNone && wanted[before] != rank_[n]);
      wanted[before] = rank_[n];
      last[before] = std::max(last[before], rank_[n]);
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
  // The first one, by rank, class and what it reads; all results of an op count as one.
  std::map<std::tuple<Index, Index, VarId>, Index> readers;
  for (Index n = 0; n < ops_.size(); ++n) {
    if (class_[n] == kNone) {
      continue;
    }
    const auto join = [&](Index other) {
      if (rank_[other] == rank_[n]) {
        parent_[root(n)] = root(other);
      }
    };
    for (Var input : ops_[n].inputs()) {
      if (const Index before = maker(input); before != kNone && together(before, n)) {
        join(before);
      }
      if (role_[n] == Role::fold || input.shape() == ops_[n].output().shape()) {
        const Index before = maker(input);
        const Var read = before == kNone ? input : ops_[before].output(0);
        join(readers.try_emplace({rank_[n], class_[n], read.id()}, n).first->second);
      }
    }
  }
}

// Numbers the groups; one that is too long is cut along the order of its ops.
void ElementwiseGroups::cut() {
  std::vector<Index> open(ops_.size(), kNone);  // by root: the group that its ops go to at present
  group_.resize(ops_.size());
  for (Index n = 0; n < ops_.size(); ++n) {
    const auto next = static_cast<Index>(groups_.size());
    Index& group = open[root(n)];
    if (group == kNone || groups_[group].size() == kMaxOps) {
      group = next;
      groups_.emplace_back();
    }
    group_[n] = group;
    groups_[group].push_back(n);
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
    ordered.push_back(std::move(groups_[group]));
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
