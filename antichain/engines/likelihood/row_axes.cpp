#include "antichain/engines/likelihood/row_axes.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "antichain/ops/catalogue.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/elementwise/gradient_ops.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/matmul.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/state/noise_site.h"

namespace antichain::likelihood {

namespace {

using Axis = std::optional<int>;
using AxisRule = std::function<Axis(Op op, int input, int axis)>;

int from_front(std::int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// Axes counted from the back, as broadcasting does; a repeated one reaches all positions.
Axis aligned_axis(Op op, int input, int axis) {
  const Var from = op.input(input);
  const int before = axis - (op.output().rank() - from.rank());
  const bool is_kept = before >= 0 && from.dim(before) == op.output().dim(axis);
  return is_kept ? Axis(before) : std::nullopt;
}

Axis same_axis(Op op, int input, int axis) {
  const Var from = op.input(input);
  const bool is_kept = axis < from.rank() && from.dim(axis) == op.output().dim(axis);
  return is_kept ? Axis(axis) : std::nullopt;
}

Axis product_axis(Op op, int input, int axis) {
  const int rank = op.output().rank(), own = op.input(input).rank();
  const bool is_transposed = op.attrs().get<bool>(input == 0 ? "transpose_a" : "transpose_b");
  if (axis < rank - 2) {
    return aligned_axis(op, input, axis);
  }
  const bool is_row = axis == rank - 2;
  if (is_row != (input == 0)) {
    return std::nullopt;
  }
  return own - (is_row != is_transposed ? 2 : 1);
}

// An axis that has as many elements in front of it on both sides.
Axis reshaped_axis(Op op, int, int axis) {
  const Dims &from = op.input(0).shape(), &to = op.output().shape();
  const Dim in_front = numel(Dims(to.begin(), to.begin() + axis));
  for (int before = 0; before < static_cast<int>(from.size()); ++before) {
    if (from[static_cast<std::size_t>(before)] == to[static_cast<std::size_t>(axis)] &&
        numel(Dims(from.begin(), from.begin() + before)) == in_front) {
      return before;
    }
  }
  return std::nullopt;
}

Axis transposed_axis(Op op, int, int axis) {
  const Ints& permutation = op.attrs().get<Ints>("permutation");
  const int rank = op.output().rank();
  return permutation.empty() ? rank - 1 - axis
                             : from_front(permutation[static_cast<std::size_t>(axis)], rank);
}

// Reductions: attributes "axes" and "keep_dims".
Axis reduced_axis(Op op, int, int axis) {
  const int rank = op.input(0).rank();
  std::vector<bool> is_gone(static_cast<std::size_t>(rank), op.attrs().get<Ints>("axes").empty());
  for (const std::int64_t gone : op.attrs().get<Ints>("axes")) {
    is_gone[static_cast<std::size_t>(from_front(gone, rank))] = true;
  }
  int position = 0;
  for (int before = 0; before < rank; ++before) {
    const bool gone = is_gone[static_cast<std::size_t>(before)];
    if (gone && !op.attrs().get<bool>("keep_dims")) {
      continue;
    }
    if (position++ == axis) {
      return gone ? std::nullopt : Axis(before);
    }
  }
  return std::nullopt;
}

// Reductions along an attribute "axis", with keep_dims.
Axis searched_axis(Op op, int, int axis) {
  const int along = from_front(op.attrs().get<std::int64_t>("axis"), op.input(0).rank());
  if (op.attrs().get<bool>("keep_dims")) {
    return axis == along ? std::nullopt : Axis(axis);
  }
  return axis < along ? axis : axis + 1;
}

// Ops that mix along an attribute "axis" and keep all others.
Axis other_axis(Op op, int input, int axis) {
  const int along = from_front(op.attrs().get<std::int64_t>("axis"), op.input(input).rank());
  return axis == along ? std::nullopt : same_axis(op, input, axis);
}

Axis stacked_axis(Op op, int, int axis) {
  const int along = from_front(op.attrs().get<std::int64_t>("axis"), op.output().rank());
  return axis == along ? std::nullopt : Axis(axis < along ? axis : axis - 1);
}

Axis flipped_axis(Op op, int input, int axis) {
  for (const std::int64_t flipped : op.attrs().get<Ints>("axes")) {
    if (from_front(flipped, op.output().rank()) == axis) {
      return std::nullopt;
    }
  }
  return same_axis(op, input, axis);
}

// Looked up: the axes of the table around that of the lookup, and those of the indices in it.
Axis gathered_axis(Op op, int input, int axis) {
  const int along = from_front(op.attrs().get<std::int64_t>("axis"), op.input(0).rank());
  const int indices = op.input(1).rank();
  if (input == 1) {
    return axis >= along && axis < along + indices ? Axis(axis - along) : std::nullopt;
  }
  if (axis < along) {
    return axis;
  }
  return axis < along + indices ? std::nullopt : Axis(axis - indices + 1);
}

Axis leading_axis(Op, int, int axis) { return axis; }

// Images, and logits with their labels: the first axis counts them in the first input.
Axis first_axis(Op, int input, int axis) {
  return input == 0 && axis == 0 ? Axis(0) : std::nullopt;
}

Axis normalised_axis(Op op, int input, int axis) {
  const auto normalised = static_cast<int>(op.attrs().get<std::int64_t>("axes"));
  return input == 0 && axis < op.input(0).rank() - normalised ? Axis(axis) : std::nullopt;
}

const std::unordered_map<const OpDef*, AxisRule>& axis_rules() {
  static const std::unordered_map<const OpDef*, AxisRule> rules = [] {
    std::unordered_map<const OpDef*, AxisRule> all = {
        {&matmul_def(), product_axis},       {&reshape_def(), reshaped_axis},
        {&broadcast_to_def(), aligned_axis}, {&sum_to_def(), same_axis},
        {&slice_def(), same_axis},           {&pad_def(), same_axis},
        {&transpose_def(), transposed_axis}, {&concat_def(), other_axis},
        {&stack_def(), stacked_axis},        {&split_def(), other_axis},
        {&flip_def(), flipped_axis},         {&gather_def(), gathered_axis},
        {&take_along_def(), other_axis},     {&one_hot_def(), leading_axis},
        {&noise_site_def(), aligned_axis},   {&stop_gradient_def(), leading_axis},
    };
    for (const OpDef* reduction : {&sum_def(), &prod_def(), &mean_def(), &reduce_min_def(),
                                   &reduce_max_def(), &logsumexp_def(), &variance_def()}) {
      all.emplace(reduction, reduced_axis);
    }
    for (const char* name : {"argmin", "argmax"}) {
      all.emplace(&find_op(name), searched_axis);
    }
    for (const char* name : {"softmax", "log_softmax", "cumsum"}) {
      all.emplace(&find_op(name), other_axis);
    }
    for (const char* name : {"conv", "conv_transpose", "max_pool", "avg_pool", "batch_norm",
                             "batch_norm_inference", "cross_entropy"}) {
      all.emplace(&find_op(name), first_axis);
    }
    all.emplace(&find_op("layer_norm"), normalised_axis);
    return all;
  }();
  return rules;
}

}  // namespace

Axis axis_before(Op op, int input, int axis) {
  if (is_elementwise(op.def())) {
    return aligned_axis(op, input, axis);
  }
  const auto found = axis_rules().find(&op.def());
  return found == axis_rules().end() ? std::nullopt : found->second(op, input, axis);
}

}  // namespace antichain::likelihood
