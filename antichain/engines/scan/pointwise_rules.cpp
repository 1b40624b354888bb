// Jacobians with one element per number of the output: element-wise ops, norms by given statistics,
// movement.
#include "antichain/engines/scan/jacobian_use.h"
#include "antichain/ops/convolution/per_channel.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::scan {

namespace {

// Sizes of 1 stand for all positions along their axis.
Strides strides_of_repeated(const Shape& shape) {
  Strides strides = contiguous_strides(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = shape[axis] == 1 ? 0 : strides[axis];
  }
  return strides;
}

// The values are given in the order of the columns: [examples, columns].
SparseJacobian sorted_by_rows(CsrPattern pattern, Var values) {
  const Var order = constant_indices(values.graph(), pattern.columns);
  return make_jacobian(std::move(pattern), gather(values, order, 1));
}

}  // namespace

// Along a direction of ones, the gradient of an element is the derivative of that element. What is
// broadcast is repeated first, so that derivatives are not added up.
BuildJacobian elementwise_jacobian(const JacobianUse& use) {
  if (use.x_shape.size() != use.y_shape.size()) {
    return {};
  }
  return [use] {
    const bool same_shape = use.x_shape == use.y_shape;
    if (same_shape && &use.op.def() == &add_def() && use.inputs.size() == 1) {
      return identity_jacobian(use.graph(), use.x.dtype(), use.x_size());
    }
    std::vector<Var> inputs = use.op.inputs();
    for (const int input : use.inputs) {
      inputs[static_cast<std::size_t>(input)] = broadcast_to(use.x, use.y.shape());
    }
    const Op whole = use.graph().add(use.op.def(), inputs, use.op.attrs());
    const Var values =
        flat_examples(use.gradient_along(same_shape ? use.op : whole, ones_like(use.y)));
    if (same_shape) {
      return make_jacobian(identity_pattern(use.x_size()), values);
    }
    return sorted_by_rows(
        one_per_column(offsets(use.y_shape, strides_of_repeated(use.x_shape)), use.x_size()),
        values);
  };
}

// It is linear in x, so the derivative at one example of zeros is that of all.
BuildJacobian batch_norm_jacobian(const JacobianUse& use) {
  if (!use.only_input_is(0) || channel_axis(use.op.attrs(), use.x) == 0) {
    return {};
  }
  return [use] {
    Dims shape = use.x.shape();
    shape[0] = 1;
    std::vector<Var> inputs = use.op.inputs();
    inputs[0] = zeros(use.graph(), use.x.dtype(), shape);
    const Op once = use.graph().add(use.op.def(), inputs, use.op.attrs());
    const Var values = use.gradient_along(once, ones(use.graph(), use.x.dtype(), shape));
    return make_jacobian(identity_pattern(use.x_size()), flat_examples(values));
  };
}

BuildJacobian reshape_jacobian(const JacobianUse& use) {
  return [use] { return identity_jacobian(use.graph(), use.x.dtype(), use.x_size()); };
}

BuildJacobian transpose_jacobian(const JacobianUse& use) {
  const Ints& permutation = use.op.attrs().get<Ints>("permutation");
  if (permutation[0] != 0) {
    return {};
  }
  return [use, permutation] {
    const Strides given = contiguous_strides(use.x_shape);
    Strides strides;
    for (std::size_t axis = 1; axis < permutation.size(); ++axis) {
      strides.push_back(given[static_cast<std::size_t>(permutation[axis] - 1)]);
    }
    return make_jacobian(one_per_column(offsets(use.y_shape, strides), use.x_size()),
                         ones(use.graph(), use.x.dtype(), {1, use.x_size()}));
  };
}

}  // namespace antichain::scan
