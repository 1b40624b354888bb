// Jacobians of products with a weight and of sums.
#include <algorithm>

#include "antichain/engines/scan/jacobian_use.h"
#include "antichain/engines/scan/window_patterns.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::scan {

namespace {

bool is_known(const Dims& shape) {
  return std::ranges::all_of(shape, [](Dim dim) { return dim.is_constant(); });
}

// A weight is the same for all examples, and so is the Jacobian.
SparseJacobian of_weight(WeightPattern found, Var weight) {
  const Var source = constant_indices(weight.graph(), found.source);
  const Var values = gather(reshape(weight, {numel(weight.shape())}), source);
  return make_jacobian(std::move(found.pattern), expand_dims(values, 0));
}

// Every row of x [..., inner] meets the weight [inner, outer], or its transpose.
WeightPattern matmul_pattern(std::int64_t rows, std::int64_t inner, std::int64_t outer,
                             bool transposed) {
  WeightPattern found;
  found.pattern.num_columns = rows * outer;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < inner; ++i) {
      for (std::int64_t j = 0; j < outer; ++j) {
        found.pattern.columns.push_back(static_cast<std::int32_t>(row * outer + j));
        found.source.push_back(
            static_cast<std::int32_t>(transposed ? j * inner + i : i * outer + j));
      }
      found.pattern.end_row();
    }
  }
  return found;
}

}  // namespace

BuildJacobian matmul_jacobian(const JacobianUse& use) {
  const Var weight = use.op.input(1);
  if (!use.only_input_is(0) || use.op.attrs().get<bool>("transpose_a") || weight.rank() != 2 ||
      !is_known(weight.shape()) || use.x_shape.empty()) {
    return {};
  }
  return [use, weight] {
    const std::int64_t inner = use.x_shape.back(), outer = use.y_shape.back();
    const std::int64_t rows = numel(Shape(use.x_shape.begin(), use.x_shape.end() - 1));
    return of_weight(matmul_pattern(rows, inner, outer, use.op.attrs().get<bool>("transpose_b")),
                     weight);
  };
}

BuildJacobian conv_jacobian(const JacobianUse& use) {
  const Var weight = use.op.input(1);
  if (!use.only_input_is(0) || !is_known(weight.shape())) {
    return {};
  }
  return [use, weight] {
    const AxisOrder order = AxisOrder::of(use.op.attrs());
    Shape x = use.x_shape, y = use.y_shape;
    x.insert(x.begin(), 1);
    y.insert(y.begin(), 1);
    const ConvGeometry conv{
        .windows = {order.spatial(x), spatial_axes(evaluate(weight.shape(), {})), order.spatial(y),
                    WindowSteps::of(use.op.attrs())},
        .in_channels = order.channels(x),
        .out_channels = order.channels(y),
        .groups = use.op.attrs().get<std::int64_t>("groups"),
        .order = order};
    return of_weight(conv_pattern(conv), weight);
  };
}

// Sums and means over axes other than that of the examples: every number goes to one sum.
BuildJacobian reduction_jacobian(const JacobianUse& use) {
  const Dims kept = kept_shape(use.op);
  if (kept[0] != use.x.dim(0)) {
    return {};
  }
  return [use, kept] {
    Shape sums;
    for (std::size_t axis = 1; axis < kept.size(); ++axis) {
      sums.push_back(kept[axis].constant());
    }
    Strides strides = contiguous_strides(sums);
    for (std::size_t axis = 0; axis < sums.size(); ++axis) {
      strides[axis] = sums[axis] == 1 ? 0 : strides[axis];
    }
    CsrPattern pattern{.num_columns = numel(sums)};
    for (const std::int32_t sum : offsets(use.x_shape, strides)) {
      pattern.columns.push_back(sum);
      pattern.end_row();
    }
    const double share = &use.op.def() == &mean_def()
                             ? static_cast<double>(use.y_size()) / static_cast<double>(use.x_size())
                             : 1;
    return make_jacobian(std::move(pattern),
                         full(use.graph(), use.x.dtype(), {1, use.x_size()}, share));
  };
}

}  // namespace antichain::scan
