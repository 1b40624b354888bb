// Which losses a position of a value can change: noise is credited with those alone.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "antichain/engines/likelihood/noise_sites.h"

namespace antichain::likelihood {

/// Positions along an axis of a value that reach some losses each.
struct Rows {
  int axis = 0;
  Var reach = {};  // [positions, losses], 1 where a position reaches a loss; none: each its own

  bool is_own() const { return !reach.valid(); }
};

/// Walks a region back from the losses of its examples. An axis is followed as far as its positions
/// stay apart; through lookups and sparse products, which mix rows, by a matrix that says which row
/// reaches which loss, so that a node of a graph is credited with the nodes that it can reach.
class ExampleRows {
 public:
  /// `value_of` returns what stands for a value of the region in the region that is being built.
  ExampleRows(Graph& graph, RegionId region, std::function<Var(Var)> value_of);

  /// Returns the rows of a site's values of all steps; none where every position of it counts with
  /// all losses.
  std::optional<Rows> of(const Site& site) const;

 private:
  using Found = std::optional<Rows>;  // none: reaches all

  void walk(RegionId region, bool is_body);
  void visit(Op op, bool is_body);
  void visit_chain(Op op);
  bool visit_independent_steps(Op op);
  Found before(Op op, int input, const Rows& rows, bool is_body) const;
  void merge(Var value, const Found& found);
  Var matrix(const Rows& rows) const;

  Graph& graph_;
  std::function<Var(Var)> value_of_;
  Dim losses_;
  std::unordered_map<VarId, Found> found_;  // of values that reach losses
};

}  // namespace antichain::likelihood
