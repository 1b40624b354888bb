#include "antichain/passes/fusion/row_form.h"

#include <algorithm>

#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

bool is_unit(Dim dim) { return dim == Dim(1); }

// Returns the value with `count` more axes of size 1; numbers broadcast as they are.
Var with_axes(Var value, std::size_t count) {
  Dims shape = value.shape();
  shape.insert(shape.end(), shape.empty() ? 0 : count, Dim(1));
  const bool undoes = made_by(value, reshape_def()) && value.producer().input(0).shape() == shape;
  return undoes ? value.producer().input(0) : reshape(value, shape);
}

// How many axes of size 1 were dropped behind a value that has been computed for rows.
std::size_t dropped_axes(Var value) {
  if (!made_by(value, reshape_def())) {
    return 0;
  }
  const Var before = value.producer().input(0);
  const Dims &from = before.shape(), &to = value.shape();
  const bool computed =
      !before.graph().is_region_param(before) &&
      (reduces_rows(before.producer()) || is_elementwise(before.producer().def()));
  const bool drops =
      computed && !to.empty() && from.size() > to.size() &&
      std::equal(to.begin(), to.end(), from.begin()) &&
      std::all_of(from.begin() + static_cast<std::ptrdiff_t>(to.size()), from.end(), is_unit);
  return drops ? from.size() - to.size() : 0;
}

// The same as a reduction that keeps its axes.
Var kept(Op op, const OpDef& def, const Ints& axes) {
  const Attrs attrs = {{"axes", axes}, {"keep_dims", true}};
  return op.graph().add(def, op.inputs(), attrs, {}, op.location()).output();
}

std::vector<Var> sum_of_rows(Op op) {
  const Dims &from = op.input(0).shape(), &to = op.output().shape();
  if (to.empty()) {
    return op.graph().add(sum_def(), op.inputs(), {}, {}, op.location()).outputs();
  }
  Ints axes;
  for (std::size_t axis = 0; from.size() == to.size() && axis < to.size(); ++axis) {
    if (is_unit(to[axis]) && !is_unit(from[axis])) {
      axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  if (axes.empty() || !op.graph().constraints(op).empty()) {
    return op.outputs();
  }
  const Var total = kept(op, sum_def(), axes);
  return reduces_rows(total.producer()) ? one(total) : op.outputs();
}

// Computes on values with the axes that were dropped, and drops them from the result.
std::vector<Var> delay_dropping(Op op) {
  const Dims& shape = op.output().shape();
  std::size_t axes = 0;
  std::vector<Var> inputs = op.inputs();
  for (Var input : inputs) {
    axes = axes == 0 && input.shape() == shape ? dropped_axes(input) : axes;
  }
  if (axes == 0 || !op.graph().constraints(op).empty()) {
    return op.outputs();
  }
  for (Var& input : inputs) {
    input = with_axes(input, axes);
  }
  const Op wider = op.graph().add(op.def(), inputs, op.attrs(), {}, op.location());
  return one(reshape(wider.output(), shape));
}

std::vector<Var> in_row_form(Op op) {
  if (&op.def() == &sum_to_def()) {
    return sum_of_rows(op);
  }
  if (&op.def() == &reshape_def()) {
    const Var input = op.input(0);
    const bool undoes =
        dropped_axes(input) > 0 && input.producer().input(0).shape() == op.output().shape();
    return undoes ? one(input.producer().input(0)) : op.outputs();
  }
  if (is_elementwise(op.def())) {
    return delay_dropping(op);
  }
  const bool drops = reduces_rows(op) && op.output().rank() > 0 &&
                     !op.attrs().get<bool>("keep_dims") && !(kept_shape(op) == op.input(0).shape());
  return drops ? one(reshape(kept(op, op.def(), op.attrs().get<Ints>("axes")), op.output().shape()))
               : op.outputs();
}

}  // namespace

bool has_reductions(Graph& graph) {
  return has_op(graph, [](Op op) { return &op.def() == &sum_to_def() || reduces_rows(op); });
}

GraphCopy bring_to_row_form(const GraphCopy& source) {
  return copy_graph(source, replacing_ops(in_row_form));
}

}  // namespace antichain
