// What OpDef::infer sees: types of the inputs, attributes, regions; and how it says what does not
// fit.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "antichain/graph/op_def.h"
#include "antichain/graph/var.h"

namespace antichain {

/// A requirement between dims that only the run can check.
struct DimConstraint {
  Dim left, right;
  std::string what;  // names the two sides for the message
};

class InferContext {
 public:
  InferContext(Graph& graph, const OpDef& def, std::span<const Var> inputs, const Attrs& attrs,
               std::span<const RegionId> regions)
      : graph_(graph), def_(def), inputs_(inputs), attrs_(attrs), regions_(regions) {}

  Graph& graph() const { return graph_; }
  const std::string& op_name() const { return def_.name; }
  const Attrs& attrs() const { return attrs_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const VarType& type(int input) const;
  const Dims& shape(int input) const { return type(input).shape; }
  DType dtype(int input) const { return type(input).dtype; }
  int rank(int input) const { return static_cast<int>(shape(input).size()); }
  std::span<const RegionId> regions() const { return regions_; }

  // Checks; each throws one sentence naming the op, the input and what was found.
  void require_inputs(int count) const;
  void require_rank(int input, int rank) const;
  void require_min_rank(int input, int rank) const;
  void require_dtype(int input, DTypeSet accepted) const;
  /// Requires that all inputs from `first` on have the dtype of `first`, and returns it.
  DType require_same_dtype(int first = 0) const;
  /// Returns the attribute `name` as an axis counted from the front.
  int axis(std::string_view name, int rank) const;
  /// Returns the attribute `name` as sorted axes counted from the front; empty means all.
  std::vector<int> axes(std::string_view name, int rank) const;

  /// Returns the dim that both are; throws ShapeError when they cannot be equal, and leaves a check
  /// to the run when that is not known yet. `what` names the place for the message.
  Dim unify(Dim left, Dim right, std::string_view what);
  void unify(const Dims& left, const Dims& right, std::string_view what);
  /// Returns the shape to which both broadcast by NumPy's rules; a symbolic dim broadcasts only
  /// against 1.
  Dims broadcast(const Dims& left, const Dims& right);
  /// Returns a new symbol for a size that the op will find out.
  Dim fresh_dim(std::string_view prefix, DimRange range = {}) const;

  const std::vector<DimConstraint>& constraints() const { return constraints_; }

 private:
  Graph& graph_;
  const OpDef& def_;
  std::span<const Var> inputs_;
  const Attrs& attrs_;
  std::span<const RegionId> regions_;
  std::vector<DimConstraint> constraints_;
};

}  // namespace antichain
