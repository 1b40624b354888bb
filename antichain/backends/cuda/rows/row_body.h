// RowBody: what a fused op that reduces rows computes, walk by walk.
//
// A row is walked once for every round of reductions and once for the results. A walk computes the
// element-wise ops that it needs: all of them from the inputs, or, where threads keep the elements
// of a row, those that no walk before it has computed.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "antichain/graph/graph.h"
#include "antichain/ops/elementwise/fused.h"

namespace antichain::cuda {

/// What one walk over the elements of a row does.
struct RowWalk {
  std::vector<Op> before;            // ops on rows, and numbers, that can be computed before it
  std::vector<std::size_t> params;   // inputs of the body whose elements it reads
  std::vector<VarId> kept;           // values that an earlier walk has computed and it reads
  std::vector<Op> ops;               // element-wise ops, in order
  std::vector<Op> folds;             // reductions that it ends with
  std::vector<std::size_t> results;  // of the body, that it stores element by element
};

class RowBody {
 public:
  explicit RowBody(Op fused);

  /// Returns the walks; with `keep`, each value is computed by one of them alone.
  std::vector<RowWalk> walks(bool keep) const;
  /// Returns the inputs that ops on rows read.
  std::vector<std::size_t> row_params() const;
  /// Returns the results that are numbers of a row.
  std::vector<std::size_t> row_results() const;
  /// Returns whether several blocks can share a row: all of it is reduced in one walk, and nothing
  /// else of it is asked for.
  bool can_split() const;
  std::size_t num_folds() const;

  Graph& graph() const { return graph_; }
  const RegionInfo& region() const { return body_; }
  const FusedShape& shape() const { return shape_; }

 private:
  bool is_number(Op op) const;
  bool is_of_row(Op op) const;
  std::size_t param_index(VarId value) const;
  std::vector<VarId> read_by(Op op) const;
  RowWalk walk(int round) const;
  void add_elements(RowWalk& walk, const std::unordered_set<VarId>& computed) const;

  Graph& graph_;
  const RegionInfo& body_;
  FusedShape shape_;
  bool contract_;
  std::unordered_map<VarId, int> rounds_;  // how many walks a value needs before it
  int last_round_ = 0;
};

}  // namespace antichain::cuda
