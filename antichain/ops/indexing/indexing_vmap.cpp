#include "antichain/ops/indexing/indexing_vmap.h"

#include <numeric>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

std::int64_t lookup_axis(const VmapContext& context) {
  return normalize_axis(context.attrs().get<std::int64_t>("axis"), context.op().input(0).rank());
}

// Moves `count` axes from one place to another; the others keep their order.
Var move_axes(Var value, std::int64_t from, std::int64_t to, std::int64_t count) {
  Ints order(static_cast<std::size_t>(value.rank()));
  std::iota(order.begin(), order.end(), 0);
  const Ints moved(order.begin() + from, order.begin() + from + count);
  order.erase(order.begin() + from, order.begin() + from + count);
  order.insert(order.begin() + to, moved.begin(), moved.end());
  return from == to || count == 0 ? value : transpose(value, order);
}

// Number of the element of a packed value at a position, given by axis.
Var element_number(Graph& graph, const Vars& position, const Dims& shape) {
  Var number;
  Dim stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const Var term = position[axis] * dim_value(graph, stride);
    number = number.valid() ? number + term : term;
    stride = stride * shape[axis];
  }
  return number.valid() ? number : scalar(graph, DType::i64, 0);
}

// Counts along an axis of a value of this rank, beside the mapped one.
Var counted(Graph& graph, Dim size, std::size_t axis, std::size_t rank) {
  Dims shape(rank + 1, Dim(1));
  shape[axis + 1] = size;
  return reshape(iota(graph, DType::i64, size), shape);
}

// Where the window of each copy begins along an axis, [copies, 1, ...].
Var start_along(const VmapContext& context, int start, std::size_t axis, const Dims& sizes) {
  const Dims& shape = context.op().input(0).shape();
  const Var all = context.repeated(start);
  Dims one_per_copy(shape.size() + 1, Dim(1));
  one_per_copy[0] = context.copies();
  const Var own = reshape(index(all, 1, static_cast<std::int64_t>(axis)), one_per_copy);
  const Var last = dim_value(context.graph(), shape[axis] - sizes[axis]);
  return maximum(minimum(own, last), 0);
}

// The start of a window in all axes, of which the mapped one is kept whole.
Var start_behind_copies(Var start) {
  return concat({zeros(start.graph(), start.dtype(), {1}), start}, 0);
}

}  // namespace

std::optional<Vars> vmap_gather(VmapContext& context) {
  const Op op = context.op();
  const std::int64_t axis = lookup_axis(context), index_rank = op.input(1).rank();
  if (!context.is_mapped(1)) {
    Attrs attrs = context.attrs();
    attrs.set("axis", axis + 1);
    return context.same_op(context.values(), attrs);
  }
  if (!context.is_mapped(0)) {
    const Var found = context.same_op(context.values(), context.attrs())[0];
    return Vars{axis == 0 ? found : move_axis(found, axis, 0)};
  }
  const Dim size = op.input(0).dim(static_cast<int>(axis));
  const Var slices = fold_copies(move_axes(context.value(0), axis + 1, 1, 1));
  const Var found = gather(slices, indices_in_all_copies(context, context.value(1), size), 0);
  return Vars{move_axes(found, 1, axis + 1, index_rank)};
}

std::optional<Vars> vmap_scatter_add(VmapContext& context) {
  const Op op = context.op();
  const std::int64_t axis = lookup_axis(context), index_rank = op.input(1).rank();
  if (!context.is_mapped(1)) {
    Attrs attrs = context.attrs();
    attrs.set("axis", axis + 1);
    return context.same_op({context.repeated(0), context.value(1), context.repeated(2)}, attrs);
  }
  const Dims& shape = op.input(0).shape();
  const Dim size = shape[static_cast<std::size_t>(axis)];
  const Var slices = move_axes(context.repeated(0), axis + 1, 1, 1);
  const Var updates = move_axes(context.repeated(2), axis + 1, 1, index_rank);
  const Var sums = scatter_add(fold_copies(slices),
                               indices_in_all_copies(context, context.value(1), size), updates, 0);
  return Vars{move_axes(reshape(sums, slices.shape()), 1, axis + 1, 1)};
}

std::optional<Vars> vmap_embedding(VmapContext& context) {
  return context.is_mapped(0) ? std::nullopt
                              : std::optional(context.same_op(context.values(), context.attrs()));
}

std::optional<Vars> vmap_dynamic_slice(VmapContext& context) {
  const Dims& shape = context.op().input(0).shape();
  const Dims& sizes = context.attrs().get<Dims>("sizes");
  if (!context.is_mapped(1)) {
    Attrs attrs = context.attrs();
    attrs.set("sizes", context.with_copies(sizes));
    return context.same_op({context.value(0), start_behind_copies(context.value(1))}, attrs);
  }
  Graph& graph = context.graph();
  Vars position;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    position.push_back(start_along(context, 1, axis, sizes) +
                       counted(graph, sizes[axis], axis, shape.size()));
  }
  Var number = element_number(graph, position, shape);
  Dim elements = numel(shape);
  if (context.is_mapped(0)) {
    number = number +
             copy_numbers(context, static_cast<int>(shape.size()) + 1) * dim_value(graph, elements);
    elements = elements * context.copies();
  }
  const Var all = reshape(context.value(0), {elements});
  return Vars{gather(all, broadcast_to(number, context.with_copies(sizes)))};
}

// Every element looks up whether, and where, it is in the window.
std::optional<Vars> vmap_dynamic_set_slice(VmapContext& context) {
  const Op op = context.op();
  const Dims &shape = op.input(0).shape(), &sizes = op.input(1).shape();
  const Var x = context.repeated(0), update = context.repeated(1);
  if (!context.is_mapped(2)) {
    return context.same_op({x, update, start_behind_copies(context.value(2))}, context.attrs());
  }
  Graph& graph = context.graph();
  Vars position;
  Var inside = scalar(graph, DType::boolean, 1);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Var behind =
        counted(graph, shape[axis], axis, shape.size()) - start_along(context, 2, axis, sizes);
    const Var size = dim_value(graph, sizes[axis]);
    inside = logical_and(inside, logical_and(greater_equal(behind, 0), less(behind, size)));
    position.push_back(behind);
  }
  const Dim elements = numel(sizes);
  const int rank = static_cast<int>(shape.size()) + 1;
  const Var number = element_number(graph, position, sizes) +
                     copy_numbers(context, rank) * dim_value(graph, elements);
  // Elements outside look up what stands behind all windows, so that there always is something.
  const Var all = concat(
      {reshape(update, {elements * context.copies()}), zeros(graph, update.dtype(), {1})}, 0);
  const Var outside = dim_value(graph, elements * context.copies());
  const Dims whole = context.with_copies(shape);
  const Var found = gather(all, broadcast_to(select(inside, number, outside), whole));
  return Vars{select(inside, found, x)};
}

}  // namespace antichain
