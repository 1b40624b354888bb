// Which element-wise ops and reductions of rows of a region are computed together; see
// fuse_elementwise.h for the rule.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/graph/id_map.h"

namespace antichain {

class ElementwiseGroups {
 public:
  using Index = std::uint32_t;  // of an op in the list
  static constexpr Index kNone = ~Index{0};

  /// `ops` are of one region, in an order in which they can run.
  ElementwiseGroups(Graph& graph, std::span<const Op> ops);

  /// Returns the groups in an order in which they can run; most are a single op.
  const std::vector<std::vector<Index>>& groups() const { return groups_; }
  /// Returns the number in the list of the op that makes a value, or kNone.
  Index maker(Var value) const;
  /// Returns whether an op is an element-wise one that may be fused with others of its shape.
  bool is_element(Index n) const { return role_[n] == Role::element; }
  /// Returns whether an op can be in one group with an op that reads its result.
  bool together(Index before, Index n) const;

 private:
  enum class Role : std::uint8_t { alone, element, fold, row };

  template <class F>
  void for_each_op_before(Index n, F f) const;
  void find_classes();
  std::vector<bool> known_from_sizes() const;
  Index class_of_rows(Index n) const;
  void find_ranks();
  void sink();
  bool keeps_more(Index n) const;
  void connect();
  void cut();
  void order();
  Index root(Index n);

  Graph& graph_;
  std::span<const Op> ops_;
  IdMap<OpId, Index> position_{kNone};
  std::vector<Role> role_;    // by op
  std::vector<Index> class_;  // by op: number of its domain; kNone if it cannot be fused
  std::vector<Dims> rows_;    // by class: the shape of rows; empty: there are no reductions
  std::vector<Index> rank_, parent_, group_;
  std::vector<std::vector<Index>> groups_;
};

}  // namespace antichain
