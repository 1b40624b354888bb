// The way back through a sequential model whose stages differ: their Jacobians as sparse matrices,
// and gradients between them by a scan.
#pragma once

#include <string>
#include <vector>

#include "antichain/engines/scan/jacobian_rules.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::scan {

/// Finds how the value at the end of a stage depends on the one at its beginning, by the rules of
/// the ops in between; nothing where one of them has none. Nothing is built before the function is
/// called.
BuildJacobian find_stage_jacobian(Graph& graph, Var from, Var to);

/// Cuts what lies between `starts` and `end`, values of one region, into stages.
class StackWalk {
 public:
  StackWalk(Graph& graph, Vars starts, Var end);

  int num_stages() const { return static_cast<int>(jacobians_.size()); }
  /// Returns how many stages stand, with their Jacobians, beside others that have one.
  int num_scanned() const;

  /// Returns the gradients of the starts for that of the end, built in the current region. Where
  /// stages with a Jacobian follow each other, the gradients between them come by a sweep;
  /// everything else by the rules of the ops.
  Vars gradients(Var end_gradient, const std::string& algorithm, std::int64_t chunk) const;

 private:
  // The first of the stages with a Jacobian that end with this one; one behind it if it has none.
  std::size_t first_of_run(std::size_t last) const;
  // Sets the gradients before the stages from `first` to `last`.
  void sweep(std::size_t first, std::size_t last, const std::string& algorithm, std::int64_t chunk,
             Vars& gradients) const;

  Graph& graph_;
  Vars starts_;
  Vars cuts_;                             // a stage more than there are stages
  std::vector<BuildJacobian> jacobians_;  // of stage n, from cut n to cut n + 1
};

}  // namespace antichain::scan
