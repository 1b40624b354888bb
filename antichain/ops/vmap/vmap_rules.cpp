#include "antichain/ops/vmap/vmap_rules.h"

#include <algorithm>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

bool has_axis(Var value, int axis) { return !(value.dim(axis) == Dim(1)); }

// Whether a product takes a thin operand as it is: it must have the sizes that are added up over,
// and thin rows or columns must be those of the result.
bool takes_thin_factor(const VmapContext& context, int input) {
  const Var value = context.given(input).value;
  const bool rows_apart = input == 0 && !context.attrs().get<bool>("transpose_a");
  return has_axis(value, -1) && (rows_apart || has_axis(value, -2));
}

// An input whose axes of one copy are those of `value`, thin or not.
Var aligned_value(const VmapContext& context, int input, Var value, int rank) {
  const int missing = rank - (value.rank() - (context.is_mapped(input) ? 1 : 0));
  if (!context.is_mapped(input) || missing <= 0) {
    return value;
  }
  Dims shape(static_cast<std::size_t>(missing), Dim(1));
  shape.insert(shape.end(), value.shape().begin() + 1, value.shape().end());
  return reshape(value, context.with_copies(shape));
}

}  // namespace

std::optional<std::vector<Var>> vmap_elementwise(VmapContext& context) {
  std::vector<Var> values;
  for (int i = 0; i < context.num_inputs(); ++i) {
    values.push_back(
        aligned_value(context, i, context.given(i).value, context.op().output().rank()));
  }
  return context.same_op(values, context.attrs());
}

std::optional<std::vector<Var>> vmap_matmul(VmapContext& context) {
  std::vector<Var> values;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Var value = takes_thin_factor(context, i) ? context.given(i).value : context.value(i);
    values.push_back(aligned_value(context, i, value, context.op().output().rank()));
  }
  return context.same_op(values, context.attrs());
}

VmapRule vmap_unchanged(const std::vector<int>& shared) {
  return [shared](VmapContext& context) -> std::optional<std::vector<Var>> {
    if (std::ranges::any_of(shared, [&](int i) { return context.is_mapped(i); })) {
      return std::nullopt;
    }
    std::vector<Var> values;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const bool is_shared = std::ranges::count(shared, i) > 0;
      values.push_back(is_shared ? context.value(i) : context.repeated(i));
    }
    return context.same_op(values, context.attrs());
  };
}

std::optional<std::vector<Var>> vmap_reduction(VmapContext& context) {
  const int rank = context.op().input(0).rank();
  Attrs attrs = context.attrs();
  Ints axes = axes_behind_copies(attrs.get<Ints>("axes"), rank);
  for (int axis = 0; attrs.get<Ints>("axes").empty() && axis < rank; ++axis) {
    axes.push_back(axis + 1);
  }
  Var value = context.value(0);
  if (rank == 0) {  // no axes would mean all, and so the mapped one
    value = reshape(value, {context.copies(), 1});
    axes = {1};
    attrs.set("keep_dims", false);
  }
  attrs.set("axes", axes);
  return context.same_op({value}, attrs);
}

VmapRule vmap_along_axis(bool of_output) {
  return [of_output](VmapContext& context) -> std::optional<std::vector<Var>> {
    const Op op = context.op();
    const int rank = of_output ? op.output().rank() : op.input(0).rank();
    Attrs attrs = context.attrs();
    attrs.set("axis", axes_behind_copies({attrs.get<std::int64_t>("axis")}, rank)[0]);
    return context.same_op(context.all_repeated(), attrs);
  };
}

std::optional<std::vector<Var>> vmap_by_first_axis(VmapContext& context) {
  std::vector<Var> values, outputs;
  for (Var value : context.all_repeated()) {
    values.push_back(fold_copies(value));
  }
  const std::vector<Var> found = context.same_op(values, context.attrs());
  for (std::size_t i = 0; i < found.size(); ++i) {
    outputs.push_back(unfold_copies(found[i], context.copies(),
                                    context.op().output(static_cast<int>(i)).shape()));
  }
  return outputs;
}

Var fold_copies(Var value) {
  Dims shape(value.shape().begin() + 1, value.shape().end());
  shape[0] = value.dim(0) * shape[0];
  return reshape(value, shape);
}

Var unfold_copies(Var value, Dim copies, const Dims& shape) {
  Dims whole = {copies};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return reshape(value, whole);
}

std::vector<std::int64_t> axes_behind_copies(std::vector<std::int64_t> axes, int rank) {
  for (std::int64_t& axis : axes) {
    axis += axis < 0 ? rank + 1 : 1;
  }
  return axes;
}

Var aligned_input(const VmapContext& context, int input, int rank) {
  return aligned_value(context, input, context.value(input), rank);
}

Var repeat_for_copies(Var value, Dim copies) {
  Dims whole = {copies};
  whole.insert(whole.end(), value.shape().begin(), value.shape().end());
  return broadcast_to(value, whole);
}

Var indices_in_all_copies(const VmapContext& context, Var indices, Dim size) {
  const Var wide = cast(indices, DType::i64), length = dim_value(context.graph(), size);
  const Var inside = logical_and(greater_equal(wide, 0), less(wide, length));
  return select(inside, wide + copy_numbers(context, wide.rank()) * length, -1);
}

Var copy_numbers(const VmapContext& context, int rank) {
  Dims shape(static_cast<std::size_t>(rank), Dim(1));
  shape[0] = context.copies();
  return reshape(iota(context.graph(), DType::i64, context.copies()), shape);
}

}  // namespace antichain
