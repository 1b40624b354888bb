// What rules for sparse Jacobians see of an op, and the rules by family; jacobian_rules.cpp has the
// table.
#pragma once

#include <optional>

#include "antichain/engines/scan/jacobian_rules.h"

namespace antichain::scan {

/// Returns the shape of one example of a value whose first axis counts them, if it is known.
std::optional<Shape> example_shape(Var value);
/// Returns a value as [examples, numbers of an example].
Var flat_examples(Var value);

/// An op whose first output depends, example by example, on the value at some of its inputs.
struct JacobianUse {
  Op op;
  std::vector<int> inputs;
  Var x, y;
  Shape x_shape, y_shape;  // of an example

  /// Returns nothing where sizes are not known, types differ or the examples are not as many.
  static std::optional<JacobianUse> of(Op op, const std::vector<int>& inputs);

  Graph& graph() const { return op.graph(); }
  std::int64_t x_size() const { return numel(x_shape); }
  std::int64_t y_size() const { return numel(y_shape); }
  bool only_input_is(int index) const { return inputs == std::vector<int>{index}; }
  /// Returns the gradient of x for this one of y, with another op in place of this one.
  Var gradient_along(Op op, Var direction) const;
};

/// Returns a matrix with one element per column, in the given row.
CsrPattern one_per_column(const std::vector<std::int32_t>& rows, std::int64_t num_rows);
/// Returns, for every number of a packed shape, where it is when axes have these strides.
std::vector<std::int32_t> offsets(const Shape& shape, const Strides& strides);

// Rules: each returns nothing where it does not apply.
BuildJacobian elementwise_jacobian(const JacobianUse& use);
BuildJacobian batch_norm_jacobian(const JacobianUse& use);
BuildJacobian reshape_jacobian(const JacobianUse& use);
BuildJacobian transpose_jacobian(const JacobianUse& use);
BuildJacobian reduction_jacobian(const JacobianUse& use);
BuildJacobian matmul_jacobian(const JacobianUse& use);
BuildJacobian conv_jacobian(const JacobianUse& use);
BuildJacobian max_pool_jacobian(const JacobianUse& use);
BuildJacobian avg_pool_jacobian(const JacobianUse& use);

}  // namespace antichain::scan
