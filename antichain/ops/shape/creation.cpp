#include "antichain/ops/shape/creation.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

std::vector<VarType> infer_iota(InferContext& context) {
  const Dim size = context.attrs().get<Dim>("size");
  require<ShapeError>(size.range().max >= 0, "iota: size {} is negative", size.str());
  const DType dtype = context.attrs().get<DType>("dtype");
  require<TypeError>(kNumbers.contains(dtype), "iota: {} is not a number type", name(dtype));
  return {{dtype, {size}}};
}

void iota_reference(KernelContext& context) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(context.size("size")));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int64_t>(i);
  }
  store(values, context.out());
}

std::vector<Sample> iota_samples() {
  const auto with = [](DType dtype, std::int64_t size) {
    return [dtype, size](Graph& graph, std::span<const Var>) {
      return std::vector<Var>{iota(graph, dtype, size)};
    };
  };
  return {{"i64", {}, with(i64, 7)}, {"f32", {}, with(f32, 5)}, {"empty", {}, with(i32, 0)}};
}

std::vector<VarType> infer_dim_value(InferContext& context) {
  return {{DType::i64, {}, Dims{context.attrs().get<Dim>("dim")}}};
}

std::vector<VarType> infer_shape_of(InferContext& context) {
  context.require_inputs(1);
  return {{DType::i64, {Dim(context.rank(0))}, context.shape(0)}};
}

std::vector<VarType> infer_nonzero(InferContext& context) {
  context.require_inputs(1);
  const Dim count = context.fresh_dim("nonzero", {0, numel(context.shape(0)).range().max});
  return {{DType::i64, {count, Dim(context.rank(0))}}};
}

// The shape of one copy is the same in all of them.
std::optional<std::vector<Var>> vmap_shape_of(VmapContext& context) {
  const Var whole = shape_of(context.value(0));
  const Var own = slice(whole, {{.axis = 0, .start = 1}});
  return std::vector{repeat_for_copies(own, context.copies())};
}

void nonzero_reference(KernelContext& context) {
  const Tensor& x = context.in(0);
  std::vector<std::int64_t> found;
  visit_compute(x.dtype(), [&](auto zero) {
    const auto values = load<decltype(zero)>(x);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != zero) {
        found.push_back(static_cast<std::int64_t>(i));
      }
    }
  });
  const std::int64_t rank = x.rank();
  context.out() = Tensor::empty(DType::i64, {static_cast<std::int64_t>(found.size()), rank});
  std::int64_t* rows = context.out().data<std::int64_t>();
  const Strides strides = contiguous_strides(x.shape());
  for (std::size_t row = 0; row < found.size(); ++row) {
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      rows[row * strides.size() + axis] = found[row] / strides[axis] % x.shape()[axis];
    }
  }
}

}  // namespace

const OpDef& iota_def() {
  static const OpDef def{
      .name = "iota",
      .doc = "0, 1, 2, … below a size.",
      .attributes = {{"size", "how many"}, {"dtype", "element type"}},
      .dtypes = {},
      .infer = infer_iota,
      .no_gradient = "it has no inputs",
      .no_vmap = kSameInAllCopies,
      .reference = iota_reference,
      .samples = iota_samples,
  };
  return def;
}

const OpDef& dim_value_def() {
  static const OpDef def{
      .name = "dim_value",
      .doc = "A size as an i64 value of rank 0.",
      .attributes = {{"dim", "the size"}},
      .dtypes = {},
      .infer = infer_dim_value,
      .no_gradient = "it has no inputs",
      .no_vmap = kSameInAllCopies,
      .reference =
          [](KernelContext& context) {
            store(std::vector<std::int64_t>{context.size("dim")}, context.out());
          },
      .samples =
          [] {
            return std::vector<Sample>{
                {"product", {{{2, 3}}}, [](Graph& graph, std::span<const Var> in) {
                   return std::vector<Var>{dim_value(graph, numel(in[0].shape()))};
                 }}};
          },
  };
  return def;
}

const OpDef& shape_of_def() {
  static const OpDef def{
      .name = "shape_of",
      .doc = "The shape as an i64 value of rank 1.",
      .dtypes = kAnyDType,
      .infer = infer_shape_of,
      .no_gradient = "a shape does not depend on the elements",
      .vmap = vmap_shape_of,
      .reference = [](KernelContext& context) { store(context.in(0).shape(), context.out()); },
      .samples =
          [] {
            const auto build = [](Graph&, std::span<const Var> in) {
              return std::vector<Var>{shape_of(in[0])};
            };
            return std::vector<Sample>{{"matrix", {{{2, 3}}}, build},
                                       {"scalar", {{{}}}, build},
                                       {"empty", {{{0, 3}}}, build}};
          },
  };
  return def;
}

const OpDef& nonzero_def() {
  static const OpDef def{
      .name = "nonzero",
      .doc = "Indices of the elements that are not 0, one row per element.",
      .dtypes = kAnyDType,
      .shape_from_data = true,
      .infer = infer_nonzero,
      .no_gradient = "its result is a list of integers",
      .no_vmap = kSizesOfEachCopy,
      .reference = nonzero_reference,
      .samples =
          [] {
            const auto build = [](Graph&, std::span<const Var> in) {
              return std::vector<Var>{nonzero(in[0])};
            };
            return std::vector<Sample>{{"matrix", {{{3, 5}, -1, 2}}, build},
                                       {"scalar", {{{}, 1, 2}}, build},
                                       {"empty", {{{0, 2}}}, build}};
          },
  };
  return def;
}

const OpDef& linear_seed_def() {
  static const OpDef def{
      .name = "linear_seed",
      .doc = "A zero that stands for a variable in which an expression is linear.",
      .attributes = {{"dtype", "element type"},
                     {"shape", "shape"},
                     {"instance", "tells one from another"}},
      .dtypes = {},
      .infer =
          [](InferContext& context) {
            return std::vector<VarType>{
                {context.attrs().get<DType>("dtype"), context.attrs().get<Dims>("shape")}};
          },
      .no_gradient = "it has no inputs",
      .no_vmap = kSameInAllCopies,
      .reference =
          [](KernelContext& context) {
            store(std::vector<std::int64_t>(static_cast<std::size_t>(context.out().numel()), 0),
                  context.out());
          },
      .samples =
          [] {
            return std::vector<Sample>{{"matrix", {}, [](Graph& graph, std::span<const Var>) {
                                          return std::vector<Var>{linear_seed(graph, f32, {2, 3})};
                                        }}};
          },
  };
  return def;
}

Var constant(Graph& graph, const Tensor& value, Place place) {
  // A copy: what the user does to the tensor later does not reach the graph.
  const Tensor own = value.defined() ? value.clone() : value;
  return graph.add(constant_def(), {}, {{"value", own}}, {}, place).output();
}

Var scalar(Graph& graph, DType dtype, double value, Place place) {
  return constant(graph, Tensor::scalar<double>(value).cast(dtype), place);
}

Var full(Graph& graph, DType dtype, const Dims& shape, double value, Place place) {
  const LocationGuard location(graph, place);
  return broadcast_to(scalar(graph, dtype, value), shape);
}

Var zeros(Graph& graph, DType dtype, const Dims& shape, Place place) {
  return full(graph, dtype, shape, 0, place);
}

Var ones(Graph& graph, DType dtype, const Dims& shape, Place place) {
  return full(graph, dtype, shape, 1, place);
}

Var zeros_like(const Operand& x) {
  return zeros(x.var().graph(), x.var().dtype(), x.var().shape(), x.location());
}

Var ones_like(const Operand& x) {
  return ones(x.var().graph(), x.var().dtype(), x.var().shape(), x.location());
}

Var iota(Graph& graph, DType dtype, Dim size, Place place) {
  return graph.add(iota_def(), {}, {{"size", size}, {"dtype", dtype}}, {}, place).output();
}

Var dim_value(Graph& graph, Dim dim, Place place) {
  return graph.add(dim_value_def(), {}, {{"dim", dim}}, {}, place).output();
}

Var shape_of(const Operand& x) { return apply(shape_of_def(), {x}); }
Var nonzero(const Operand& x) { return apply(nonzero_def(), {x}); }

Var linear_seed(Graph& graph, DType dtype, const Dims& shape) {
  const auto instance = static_cast<std::int64_t>(graph.num_ops());
  return graph
      .add(linear_seed_def(), {}, {{"dtype", dtype}, {"shape", shape}, {"instance", instance}})
      .output();
}

std::vector<const OpDef*> creation_family() {
  return {&input_def(),    &constant_def(), &iota_def(),       &dim_value_def(),
          &shape_of_def(), &nonzero_def(),  &linear_seed_def()};
}

}  // namespace antichain
