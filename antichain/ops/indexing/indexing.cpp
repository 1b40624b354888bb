// gather and scatter_add (whole slices), one_hot. Per-element lookup is indexing_along.cpp, tables
// embedding.cpp.
#include "antichain/ops/indexing/indexing.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/indexing/indexing_vmap.h"
#include "antichain/ops/reference/checked_indices.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/require_size.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

// Returns the shape of x with `axis` replaced by the axes of the indices, inputs 0 and 1.
Dims gathered_shape(InferContext& context) {
  context.require_dtype(1, {DType::i32, DType::i64});
  Dims shape = context.shape(0);
  const Dims& indices = context.shape(1);
  const auto place = shape.erase(shape.begin() + context.axis("axis", context.rank(0)));
  shape.insert(place, indices.begin(), indices.end());
  return shape;
}

std::vector<VarType> infer_gather(InferContext& context) {
  context.require_inputs(2);
  return {{context.dtype(0), gathered_shape(context)}};
}

std::vector<VarType> infer_scatter_add(InferContext& context) {
  context.require_inputs(3);
  context.require_dtype(0, kNumbers);
  require<TypeError>(context.dtype(0) == context.dtype(2),
                     "{}: the value is {} and the updates are {}; cast one of them",
                     context.op_name(), name(context.dtype(0)), name(context.dtype(2)));
  context.unify(context.shape(2), gathered_shape(context), "the updates and the indexed slices");
  return {{context.dtype(0), context.shape(0)}};
}

std::vector<VarType> infer_one_hot(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, {DType::i32, DType::i64});
  const Dim classes = context.attrs().get<Dim>("classes");
  require_size(context, classes, "the number of classes");
  Dims shape = context.shape(0);
  shape.push_back(classes);
  return {{context.attrs().get<DType>("dtype"), shape}};
}

std::vector<Var> gather_vjp(VjpContext& context) {
  const Var x = context.input(0), indices = context.input(1);
  const std::int64_t axis = context.attrs().get<std::int64_t>("axis");
  return {scatter_add(zeros_like(x), indices, context.grad(), axis), Var{}};
}

std::vector<Var> scatter_add_vjp(VjpContext& context) {
  const Var grad = context.grad(), indices = context.input(1);
  const std::int64_t axis = context.attrs().get<std::int64_t>("axis");
  return {grad, Var{}, context.needs(2) ? gather(grad, indices, axis) : Var{}};
}

void gather_reference(KernelContext& context) {
  const Tensor &x = context.in(0), &out = context.out();
  const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
  const std::vector<std::int64_t> indices = checked_indices(context, 1, split.size);
  const auto count = static_cast<std::int64_t>(indices.size());
  const Tensor from = x.reshape({split.outer, split.size, split.inner});
  const Tensor to = out.reshape({split.outer, count, split.inner});
  for (std::int64_t k = 0; k < count; ++k) {
    to.select(1, k).copy_from(from.select(1, indices[static_cast<std::size_t>(k)]));
  }
}

void scatter_add_reference(KernelContext& context) {
  const Tensor &x = context.in(0), &updates = context.in(2), &out = context.out();
  const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
  const std::vector<std::int64_t> indices = checked_indices(context, 1, split.size);
  const auto count = static_cast<std::int64_t>(indices.size());
  visit_compute(out.dtype(), [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> result = load<C>(x);
    const std::vector<C> added = load<C>(updates);
    for (std::int64_t outer = 0; outer < split.outer; ++outer) {
      for (std::int64_t k = 0; k < count;
           ++k) {  // in the order of the indices: sums are repeatable
        C* to = result.data() +
                (outer * split.size + indices[static_cast<std::size_t>(k)]) * split.inner;
        const C* from = added.data() + (outer * count + k) * split.inner;
        for (std::int64_t i = 0; i < split.inner; ++i) {
          to[i] += from[i];
        }
      }
    }
    store(result, out);
  });
}

void one_hot_reference(KernelContext& context) {
  const Tensor& out = context.out();
  const std::int64_t classes = context.size("classes");
  const std::vector<std::int64_t> indices = context.attr<bool>("checked")
                                                ? checked_indices(context, 0, classes)
                                                : context.in(0).to_vector<std::int64_t>();
  out.copy_from(Tensor::zeros(out.dtype(), out.shape()));
  const Tensor rows = out.reshape({static_cast<std::int64_t>(indices.size()), classes});
  const Tensor one = Tensor::full(out.dtype(), {}, 1);
  for (std::size_t row = 0; row < indices.size(); ++row) {
    if (indices[row] >= 0 && indices[row] < classes) {
      rows.select(0, static_cast<std::int64_t>(row)).select(0, indices[row]).copy_from(one);
    }
  }
}

struct GatherSample {
  std::string label;
  Shape shape;
  SampleInput indices;
  std::int64_t axis;
  Shape gathered;  // shape of the result
};

std::vector<GatherSample> slices_samples() {
  return {
      {"first axis", {5, 3}, indices_of({4}, {4, 0, 2, 0}), 0, {4, 3}},
      {"i32 indices", {3, 2}, indices_of({2}, {1, 1}, DType::i32), 0, {2, 2}},
      {"middle axis, matrix of indices",
       {2, 3, 2},
       indices_of({2, 2}, {2, 0, 0, 1}),
       1,
       {2, 2, 2, 2}},
      {"last axis, scalar index", {3, 5}, indices_of({}, {3}), -1, {3}},
      {"one element", {1}, indices_of({1}, {0}), 0, {1}},
      {"no indices", {3, 2}, indices_of({0}, {}), 0, {0, 2}},
      {"empty slices", {3, 0}, indices_of({2}, {2, 1}), 0, {2, 0}},
      {"few of many", {2, 200, 2}, indices_of({4}, {7, 199, 7, 0}), 1, {2, 4, 2}},
      {"few of many numbers", {300}, indices_of({3}, {8, 1, 8}), 0, {3}},
  };
}

std::vector<Sample> gather_samples() {
  std::vector<Sample> samples;
  for (const GatherSample& sample : slices_samples()) {
    samples.push_back({sample.label,
                       {SampleInput{sample.shape}, sample.indices},
                       [axis = sample.axis](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{gather(in[0], in[1], axis)};
                       }});
  }
  return samples;
}

std::vector<Sample> scatter_add_samples() {
  std::vector<Sample> samples;
  for (const GatherSample& sample : slices_samples()) {
    samples.push_back({sample.label,
                       {SampleInput{sample.shape}, sample.indices, SampleInput{sample.gathered}},
                       [axis = sample.axis](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{scatter_add(in[0], in[1], in[2], axis)};
                       }});
  }
  return samples;
}

std::vector<Sample> one_hot_samples() {
  const auto with = [](Dim classes, DType dtype, bool checked = false) {
    return [=](Graph&, std::span<const Var> in) {
      return std::vector<Var>{apply(
          one_hot_def(), {in[0]}, {{"classes", classes}, {"dtype", dtype}, {"checked", checked}})};
    };
  };
  return {
      {"vector", {indices_of({5}, {2, 0, 1, 2, 2})}, with(3, DType::f32)},
      {"outside", {indices_of({3}, {-1, 7, 1})}, with(2, DType::f64)},
      {"i32 matrix to integers", {indices_of({2, 1}, {1, 0}, DType::i32)}, with(2, DType::i8)},
      {"scalar to bool", {indices_of({}, {4})}, with(5, DType::boolean)},
      {"checked", {indices_of({4}, {4, 0, 2, 2})}, with(5, DType::boolean, true)},
      {"no indices", {indices_of({0}, {})}, with(3, DType::bf16)},
      {"no classes", {indices_of({2}, {0, 1})}, with(0, DType::f32)},
  };
}

}  // namespace

const OpDef& gather_def() {
  static const OpDef def{
      .name = "gather",
      .doc = "Takes whole slices of an axis, by integer indices.",
      .attributes = {{"axis", "the axis to look up", {std::int64_t{0}}}},
      .dtypes = kAnyDType,
      .infer = infer_gather,
      .vjp = gather_vjp,
      .vmap = vmap_gather,
      .reference = gather_reference,
      .samples = gather_samples,
  };
  return def;
}

const OpDef& scatter_add_def() {
  static const OpDef def{
      .name = "scatter_add",
      .doc = "Adds slices to those that indices name; an index may come more than once.",
      .attributes = {{"axis", "the axis to look up", {std::int64_t{0}}}},
      .dtypes = kNumbers,
      .infer = infer_scatter_add,
      .vjp = scatter_add_vjp,
      .vmap = vmap_scatter_add,
      .reference = scatter_add_reference,
      .samples = scatter_add_samples,
  };
  return def;
}

const OpDef& one_hot_def() {
  static const OpDef def{
      .name = "one_hot",
      .doc = "Marks each index by a 1 along a new last axis.",
      .attributes = {{"classes", "size of the new axis"},
                     {"dtype", "type of the result"},
                     {"checked", "whether an index outside is an error", {false}}},
      .dtypes = {DType::i32, DType::i64},
      .infer = infer_one_hot,
      .no_gradient = "the indices are integers",
      .vmap = vmap_unchanged(),
      .reference = one_hot_reference,
      .samples = one_hot_samples,
  };
  return def;
}

Var gather(const Operand& x, const Operand& indices, std::int64_t axis) {
  return apply(gather_def(), {x, indices}, {{"axis", axis}});
}

Var scatter_add(const Operand& x, const Operand& indices, const Operand& updates,
                std::int64_t axis) {
  return apply(scatter_add_def(), {x, indices, updates}, {{"axis", axis}});
}

Var one_hot(const Operand& indices, Dim classes, DType dtype) {
  return apply(one_hot_def(), {indices}, {{"classes", classes}, {"dtype", dtype}});
}

std::vector<const OpDef*> indexing_family() {
  return {&gather_def(),  &scatter_add_def(), &take_along_def(),    &scatter_add_along_def(),
          &one_hot_def(), &embedding_def(),   &embedding_bag_def(), &unique_indices_def()};
}

}  // namespace antichain
