// take_along and scatter_add_along: one index per element.
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/checked_indices.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

// Checks inputs 0 (the value) and 1 (the indices) and returns the shape of the elements that they
// pick.
Dims picked_shape(InferContext& context) {
  context.require_dtype(1, {DType::i32, DType::i64});
  context.require_rank(1, context.rank(0));
  const auto axis = static_cast<std::size_t>(context.axis("axis", context.rank(0)));
  Dims shape = context.shape(1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis) {
      shape[i] = context.unify(shape[i], context.shape(0)[i], "axes of the indices and the value");
    }
  }
  return shape;
}

std::vector<VarType> infer_take_along(InferContext& context) {
  context.require_inputs(2);
  return {{context.dtype(0), picked_shape(context)}};
}

std::vector<VarType> infer_scatter_add_along(InferContext& context) {
  context.require_inputs(3);
  context.require_dtype(0, kNumbers);
  require<TypeError>(context.dtype(0) == context.dtype(2),
                     "{}: the value is {} and the updates are {}; cast one of them",
                     context.op_name(), name(context.dtype(0)), name(context.dtype(2)));
  context.unify(context.shape(2), picked_shape(context), "the updates and the indices");
  return {{context.dtype(0), context.shape(0)}};
}

std::vector<Var> take_along_vjp(VjpContext& context) {
  const Var x = context.input(0), indices = context.input(1);
  const std::int64_t axis = context.attrs().get<std::int64_t>("axis");
  return {scatter_add_along(zeros_like(x), indices, context.grad(), axis), Var{}};
}

std::vector<Var> scatter_add_along_vjp(VjpContext& context) {
  const Var grad = context.grad(), indices = context.input(1);
  const std::int64_t axis = context.attrs().get<std::int64_t>("axis");
  return {grad, Var{}, context.needs(2) ? take_along(grad, indices, axis) : Var{}};
}

// Returns for every index where its element lies in the packed value, input 0.
std::vector<std::size_t> positions(const KernelContext& context) {
  const Tensor& x = context.in(0);
  const int axis = context.axis("axis", x.rank());
  const AxisSplit value(x.shape(), axis), picked(context.in(1).shape(), axis);
  std::vector<std::size_t> result;
  const std::vector<std::int64_t> indices = checked_indices(context, 1, value.size);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::int64_t place = static_cast<std::int64_t>(k);
    const std::int64_t outer = place / (picked.size * picked.inner), inner = place % picked.inner;
    const std::int64_t found = (outer * value.size + indices[k]) * value.inner + inner;
    result.push_back(static_cast<std::size_t>(found));
  }
  return result;
}

void take_along_reference(KernelContext& context) {
  const std::vector<std::size_t> from = positions(context);
  visit_dtype(context.out().dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = context.in(0).data<T>();
    T* out = context.out().data<T>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      out[i] = x[from[i]];
    }
  });
}

void scatter_add_along_reference(KernelContext& context) {
  const std::vector<std::size_t> to = positions(context);
  visit_compute(context.out().dtype(), [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> result = load<C>(context.in(0));
    const std::vector<C> updates = load<C>(context.in(2));
    for (std::size_t i = 0; i < to.size(); ++i) {
      result[to[i]] += updates[i];
    }
    store(result, context.out());
  });
}

struct AlongSample {
  std::string label;
  Shape shape;
  SampleInput indices;
  std::int64_t axis;
};

std::vector<AlongSample> along_samples() {
  const auto indices = [](const Shape& shape, const std::vector<std::int64_t>& values,
                          DType dtype = DType::i64) {
    return SampleInput{.shape = shape, .dtype = dtype, .values = values};
  };
  return {
      {"first axis", {5, 2}, indices({3, 2}, {4, 0, 1, 0, 4, 3}), 0},
      {"last axis", {2, 3}, indices({2, 2}, {2, 2, 0, 1}), -1},
      {"middle axis, i32", {2, 3, 2}, indices({2, 1, 2}, {2, 0, 1, 1}, DType::i32), 1},
      {"more indices than elements", {2}, indices({5}, {1, 0, 1, 1, 0}), 0},
      {"one element", {1, 1}, indices({1, 1}, {0}), 1},
      {"no indices", {3, 2}, indices({0, 2}, {}), 0},
      {"empty axis elsewhere", {3, 0}, indices({2, 0}, {}), 0},
  };
}

std::vector<Sample> take_along_samples() {
  std::vector<Sample> samples;
  for (const AlongSample& sample : along_samples()) {
    samples.push_back({sample.label,
                       {SampleInput{sample.shape}, sample.indices},
                       [axis = sample.axis](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{take_along(in[0], in[1], axis)};
                       }});
  }
  return samples;
}

std::vector<Sample> scatter_add_along_samples() {
  std::vector<Sample> samples;
  for (const AlongSample& sample : along_samples()) {
    const SampleInput updates{sample.indices.shape};
    samples.push_back({sample.label,
                       {SampleInput{sample.shape}, sample.indices, updates},
                       [axis = sample.axis](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{scatter_add_along(in[0], in[1], in[2], axis)};
                       }});
  }
  return samples;
}

}  // namespace

const OpDef& take_along_def() {
  static const OpDef def{
      .name = "take_along",
      .doc = "Takes one element per index along an axis.",
      .attributes = {{"axis", "the axis to look up"}},
      .dtypes = kAnyDType,
      .infer = infer_take_along,
      .vjp = take_along_vjp,
      .vmap = vmap_along_axis(),
      .reference = take_along_reference,
      .channels_last = by_axis({0, 1}, {0}),
      .samples = take_along_samples,
  };
  return def;
}

const OpDef& scatter_add_along_def() {
  static const OpDef def{
      .name = "scatter_add_along",
      .doc = "Adds one element per index along an axis; an index may come more than once.",
      .attributes = {{"axis", "the axis to look up"}},
      .dtypes = kNumbers,
      .infer = infer_scatter_add_along,
      .vjp = scatter_add_along_vjp,
      .vmap = vmap_along_axis(),
      .reference = scatter_add_along_reference,
      .channels_last = by_axis({0, 1, 2}, {0}),
      .samples = scatter_add_along_samples,
  };
  return def;
}

Var take_along(const Operand& x, const Operand& indices, std::int64_t axis) {
  return apply(take_along_def(), {x, indices}, {{"axis", axis}});
}

Var scatter_add_along(const Operand& x, const Operand& indices, const Operand& updates,
                      std::int64_t axis) {
  return apply(scatter_add_along_def(), {x, indices, updates}, {{"axis", axis}});
}

}  // namespace antichain
