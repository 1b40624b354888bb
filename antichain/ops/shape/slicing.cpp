// slice and set_slice. Attributes hold one range per axis: 0 <= start, stop <= size, 1 <= step. A
// start behind its stop makes an empty range; it is not clamped to the size, so that x[1:] and
// x[:-1] have the same dim.
#include "antichain/ops/shape/slicing.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/convolution/cut.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/reference/window.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

Dim range_size(Dim start, Dim stop, std::int64_t step) {
  return (max(stop - start, 0) + Dim(step - 1)) / Dim(step);
}

// Leaves to the run what is not known yet, so that kernels never see a range that leaves its axis.
void require_inside(InferContext& context, int axis, Dim start, Dim stop) {
  const Dim size = context.shape(0)[static_cast<std::size_t>(axis)];
  require<ShapeError>(start.range().max >= 0 && (size - stop).range().max >= 0,
                      "{}: the range from {} to {} leaves axis {} of size {}", context.op_name(),
                      start.str(), stop.str(), axis, size.str());
  context.unify(max(start, 0), start, "the start of a range and its lower bound");
  context.unify(min(stop, size), stop, "the end of a range and the size of its axis");
}

Dims infer_sizes(InferContext& context) {
  const Dims& starts = context.attrs().get<Dims>("starts");
  const Dims& stops = context.attrs().get<Dims>("stops");
  const Ints& steps = context.attrs().get<Ints>("steps");
  const auto rank = static_cast<std::size_t>(context.rank(0));
  require<ShapeError>(starts.size() == rank && stops.size() == rank && steps.size() == rank,
                      "{}: a value of shape {} needs {} starts, stops and steps", context.op_name(),
                      to_string(context.shape(0)), rank);
  Dims sizes;
  for (std::size_t i = 0; i < rank; ++i) {
    require(steps[i] > 0, "{}: the step of axis {} must be positive, got {}", context.op_name(), i,
            steps[i]);
    require_inside(context, static_cast<int>(i), starts[i], stops[i]);
    sizes.push_back(range_size(starts[i], stops[i], steps[i]));
  }
  return sizes;
}

std::vector<VarType> infer_slice(InferContext& context) {
  context.require_inputs(1);
  const VarType& x = context.type(0);
  VarType result{x.dtype, infer_sizes(context)};
  if (x.value && x.shape.size() == 1) {
    const Dim start = context.attrs().get<Dims>("starts")[0], size = result.shape[0];
    const std::int64_t step = context.attrs().get<Ints>("steps")[0];
    if (start.is_constant() && size.is_constant()) {
      result.value.emplace();
      for (std::int64_t i = 0; i < size.constant(); ++i) {
        result.value->push_back((*x.value)[static_cast<std::size_t>(start.constant() + i * step)]);
      }
    }
  }
  return {result};
}

std::vector<VarType> infer_set_slice(InferContext& context) {
  context.require_inputs(2);
  const DType dtype = context.require_same_dtype();
  context.unify(context.shape(1), infer_sizes(context), "the update and the ranges");
  return {{dtype, context.shape(0)}};
}

std::vector<Var> slice_vjp(VjpContext& context) {
  return {apply(set_slice_def(), {zeros_like(context.input(0)), context.grad()}, context.attrs())};
}

std::vector<Var> set_slice_vjp(VjpContext& context) {
  const Var grad = context.grad();
  Var grad_x, grad_update;
  if (context.needs(0)) {
    grad_x = apply(set_slice_def(), {grad, zeros_like(context.input(1))}, context.attrs());
  }
  if (context.needs(1)) {
    grad_update = apply(slice_def(), {grad}, context.attrs());
  }
  return {grad_x, grad_update};
}

std::optional<std::vector<Var>> vmap_ranges(VmapContext& context) {
  const auto with = [](Dim first, Dims rest) {
    rest.insert(rest.begin(), first);
    return rest;
  };
  Attrs attrs = context.attrs();
  attrs.set("starts", with(Dim(0), attrs.get<Dims>("starts")));
  attrs.set("stops", with(context.copies(), attrs.get<Dims>("stops")));
  Ints steps = attrs.get<Ints>("steps");
  steps.insert(steps.begin(), 1);
  attrs.set("steps", steps);
  return context.same_op(context.all_repeated(), attrs);
}

Tensor ranges_of(const Tensor& tensor, const KernelContext& context, const Shape& lengths) {
  return window(tensor, context.sizes("starts"), lengths, context.attr<Ints>("steps"));
}

Tensor sliced(const KernelContext& context) {
  return ranges_of(context.in(0), context, context.out().shape());
}

void set_slice_reference(KernelContext& context) {
  const Tensor &out = context.out(), &update = context.in(1);
  out.copy_from(context.in(0));
  ranges_of(out, context, update.shape()).copy_from(update);
}

// Writes ranges as a user gives them as one range per axis; clamps like Python does.
Attrs normalized(const OpDef& def, const Dims& shape, const std::vector<SliceRange>& ranges) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  Dims starts(shape.size(), 0), stops = shape;
  Ints steps(shape.size(), 1);
  std::vector<bool> named(shape.size());
  for (const SliceRange& range : ranges) {
    require<ShapeError>(range.axis >= -rank && range.axis < rank,
                        "{}: axis {} is outside a value of rank {}", def.name, range.axis, rank);
    const auto axis = static_cast<std::size_t>(range.axis < 0 ? range.axis + rank : range.axis);
    require(!named[axis], "{}: axis {} is named twice", def.name, axis);
    named[axis] = true;
    const Dim size = shape[axis];
    const auto from_front = [size](Dim position) {
      return position.is_constant() && position.constant() < 0 ? size + position : position;
    };
    starts[axis] = max(from_front(range.start), 0);
    if (!(range.stop == Dim(DimRange::kUnbounded))) {
      stops[axis] = min(from_front(range.stop), size);
    }
    steps[axis] = range.step;
  }
  return {{"starts", starts}, {"stops", stops}, {"steps", steps}};
}

std::vector<AttrSpec> range_attributes() {
  return {{"starts", "first position of each axis"},
          {"stops", "end of the range of each axis, excluded"},
          {"steps", "distance of neighbouring positions of each axis"}};
}

struct RangeSample {
  std::string label;
  Shape shape, sizes;  // of the value and of the ranges in it
  std::vector<SliceRange> ranges;
};

std::vector<RangeSample> range_samples() {
  return {
      {"middle of one axis", {7, 3}, {4, 3}, {{0, 2, 6}}},
      {"steps on two axes", {7, 5}, {3, 2}, {{0, 1, 7, 2}, {1, 0, 4, 3}}},
      {"from the end", {5, 3}, {2, 2}, {{0, -3, -1}, {-1, -2}}},
      {"clamped", {5}, {5}, {{0, -9, 9}}},
      {"step beyond the size", {2, 3}, {2, 1}, {{1, 1, DimRange::kUnbounded, 7}}},
      {"one element", {1}, {1}, {{0, 0, 1}}},
      {"nothing left", {3, 2}, {0, 2}, {{0, 2, 1}}},
      {"start behind the end", {3}, {0}, {{0, 5}}},
      {"empty value", {0, 3}, {0, 2}, {{1, 1}}},
      {"rank 0", {}, {}, {}},
  };
}

std::vector<Sample> slice_samples() {
  std::vector<Sample> samples;
  for (const RangeSample& sample : range_samples()) {
    samples.push_back({sample.label,
                       {SampleInput{sample.shape}},
                       [ranges = sample.ranges](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{slice(in[0], ranges)};
                       }});
  }
  samples.push_back({"one position", {SampleInput{{3, 5}}}, [](Graph&, std::span<const Var> in) {
                       return std::vector<Var>{index(in[0], 1, 3), index(in[0], 0, -1)};
                     }});
  return samples;
}

std::vector<Sample> set_slice_samples() {
  std::vector<Sample> samples;
  for (const RangeSample& sample : range_samples()) {
    samples.push_back({sample.label,
                       {SampleInput{sample.shape}, SampleInput{sample.sizes}},
                       [ranges = sample.ranges](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{set_slice(in[0], in[1], ranges)};
                       }});
  }
  return samples;
}

bool has_checks(Op op) { return !op.graph().constraints(op).empty(); }

Rewrite slice_of_all() {
  return {"slice(x) of all of x -> x",
          [](Op op) -> std::optional<std::vector<Var>> {
            const bool is_all = op.input(0).shape() == op.output().shape() &&
                                std::ranges::all_of(op.attrs().get<Ints>("steps"),
                                                    [](std::int64_t step) { return step == 1; });
            return is_all && !has_checks(op) ? std::optional(one(op.input(0))) : std::nullopt;
          },
          {"all", {SampleInput{{2, 3}}}, [](Graph&, std::span<const Var> in) {
             return one(cut(in[0], {0, 0}, {2, 3}));
           }}};
}

Rewrite slice_of_repeated_number() {
  return {"slice(broadcast_to(number)) -> broadcast_to(number)",
          [](Op op) -> std::optional<std::vector<Var>> {
            const Var x = op.input(0);
            if (!made_by(x, broadcast_to_def()) || x.producer().input(0).rank() != 0 ||
                has_checks(op)) {
              return std::nullopt;
            }
            return one(broadcast_to(x.producer().input(0), op.output().shape()));
          },
          {"repeated number", {SampleInput{{}}}, [](Graph&, std::span<const Var> in) {
             return one(cut(broadcast_to(in[0], {6}), {2}, {3}));
           }}};
}

}  // namespace

const OpDef& slice_def() {
  static const OpDef def{
      .name = "slice",
      .doc = "Keeps a range of every axis.",
      .attributes = range_attributes(),
      .dtypes = kAnyDType,
      .infer = infer_slice,
      .vjp = slice_vjp,
      .vmap = vmap_ranges,
      .rewrites = {slice_of_all(), slice_of_repeated_number()},
      .reference = [](KernelContext& context) { context.out().copy_from(sliced(context)); },
      .view = sliced,
      .samples = slice_samples,
  };
  return def;
}

const OpDef& set_slice_def() {
  static const OpDef def{
      .name = "set_slice",
      .doc = "Writes the second input over a range of every axis of the first.",
      .attributes = range_attributes(),
      .dtypes = kAnyDType,
      .infer = infer_set_slice,
      .vjp = set_slice_vjp,
      .vmap = vmap_ranges,
      .reference = set_slice_reference,
      .samples = set_slice_samples,
  };
  return def;
}

Var slice(const Operand& x, const std::vector<SliceRange>& ranges) {
  return apply(slice_def(), {x}, normalized(slice_def(), x.var().shape(), ranges));
}

Var set_slice(const Operand& x, const Operand& update, const std::vector<SliceRange>& ranges) {
  return apply(set_slice_def(), {x, update}, normalized(set_slice_def(), x.var().shape(), ranges));
}

Var index(const Operand& x, std::int64_t axis, Dim position) {
  Dims shape = x.var().shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  require<ShapeError>(axis >= -rank && axis < rank, "index: axis {} is outside a value of rank {}",
                      axis, rank);
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  Dims starts(shape.size(), 0);
  starts[at] = position.is_constant() && position.constant() < 0 ? shape[at] + position : position;
  shape[at] = 1;
  const Var kept = cut(x, starts, shape);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at));
  return reshape(Operand(kept, x.location()), shape);
}

Var cut(const Operand& x, const Dims& starts, const Dims& sizes) {
  Dims stops;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    stops.push_back(starts[i] + sizes[i]);
  }
  return apply(slice_def(), {x},
               {{"starts", starts}, {"stops", stops}, {"steps", Ints(sizes.size(), 1)}});
}

std::vector<const OpDef*> slicing_family() {
  return {&slice_def(), &set_slice_def(), &dynamic_slice_def(), &dynamic_set_slice_def(),
          &pad_def(),   &concat_def(),    &split_def(),         &stack_def()};
}

}  // namespace antichain
