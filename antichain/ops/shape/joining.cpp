// concat and stack.
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/convolution/cut.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

std::vector<VarType> infer_concat(InferContext& context) {
  require(context.num_inputs() > 0, "{}: needs at least one value", context.op_name());
  const DType dtype = context.require_same_dtype();
  VarType result = context.type(0);
  const auto axis = static_cast<std::size_t>(context.axis("axis", context.rank(0)));
  for (int i = 1; i < context.num_inputs(); ++i) {
    context.require_rank(i, context.rank(0));
    const VarType& part = context.type(i);
    for (std::size_t j = 0; j < result.shape.size(); ++j) {
      result.shape[j] = j == axis
                            ? result.shape[j] + part.shape[j]
                            : context.unify(result.shape[j], part.shape[j], "sizes of other axes");
    }
    if (result.value && part.value && result.shape.size() == 1) {
      result.value->insert(result.value->end(), part.value->begin(), part.value->end());
    } else {
      result.value.reset();
    }
  }
  return {{dtype, result.shape, result.value}};
}

std::vector<Var> concat_vjp(VjpContext& context) {
  const Var grad = context.grad();
  const auto axis = static_cast<std::size_t>(
      normalize_axis(context.attrs().get<std::int64_t>("axis"), grad.rank()));
  std::vector<Var> grads;
  Dims starts(static_cast<std::size_t>(grad.rank()), 0);
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Var part = context.input(i);
    grads.push_back(context.needs(i) ? cut(grad, starts, part.shape()) : Var{});
    starts[axis] = starts[axis] + part.shape()[axis];
  }
  return grads;
}

void concat_reference(KernelContext& context) {
  const Tensor& out = context.out();
  const int axis = context.axis("axis", out.rank());
  std::int64_t start = 0;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Tensor& part = context.in(i);
    const std::int64_t size = part.shape()[static_cast<std::size_t>(axis)];
    out.slice(axis, start, size).copy_from(part);
    start += size;
  }
}

std::vector<VarType> infer_stack(InferContext& context) {
  require(context.num_inputs() > 0, "{}: needs at least one value", context.op_name());
  const DType dtype = context.require_same_dtype();
  const int axis = context.axis("axis", context.rank(0) + 1);
  Dims shape = context.shape(0);
  std::optional<Dims> value(std::in_place);
  for (int i = 0; i < context.num_inputs(); ++i) {
    const VarType& part = context.type(i);
    context.require_rank(i, context.rank(0));
    for (std::size_t j = 0; j < shape.size(); ++j) {
      shape[j] = context.unify(shape[j], part.shape[j], "shapes of the values");
    }
    if (value && part.value && part.shape.empty()) {
      value->push_back(part.value->front());
    } else {
      value.reset();
    }
  }
  shape.insert(shape.begin() + axis, context.num_inputs());
  return {{dtype, shape, value}};
}

std::vector<Var> decompose_stack(Op op) {
  const std::int64_t axis =
      normalize_axis(op.attrs().get<std::int64_t>("axis"), op.output().rank());
  std::vector<Var> parts;
  for (Var part : op.inputs()) {
    parts.push_back(expand_dims(part, axis));
  }
  return {concat(parts, axis, op.location())};
}

void stack_reference(KernelContext& context) {
  const Tensor& out = context.out();
  const int axis = context.axis("axis", out.rank());
  for (int i = 0; i < context.num_inputs(); ++i) {
    out.select(axis, i).copy_from(context.in(i));
  }
}

std::vector<Sample> concat_samples() {
  const auto along = [](std::int64_t axis) {
    return [axis](Graph&, std::span<const Var> in) {
      return std::vector<Var>{concat({in.begin(), in.end()}, axis)};
    };
  };
  return {
      {"first axis", {SampleInput{{2, 3}}, SampleInput{{5, 3}}}, along(0)},
      {"last axis", {SampleInput{{2, 1, 3}}, SampleInput{{2, 1, 2}}}, along(-1)},
      {"middle axis", {SampleInput{{2, 1, 3}}, SampleInput{{2, 2, 3}}}, along(1)},
      {"one part", {SampleInput{{3}}}, along(0)},
      {"an empty part", {SampleInput{{2}}, SampleInput{{0}}, SampleInput{{3}}}, along(0)},
      {"empty parts", {SampleInput{{0, 2}}, SampleInput{{0, 1}}}, along(1)},
  };
}

std::vector<Sample> stack_samples() {
  const auto along = [](std::int64_t axis) {
    return [axis](Graph&, std::span<const Var> in) {
      return std::vector<Var>{stack({in.begin(), in.end()}, axis)};
    };
  };
  return {
      {"first axis", {SampleInput{{3, 2}}, SampleInput{{3, 2}}}, along(0)},
      {"middle axis", {SampleInput{{3, 2}}, SampleInput{{3, 2}}}, along(1)},
      {"last axis", {SampleInput{{3, 2}}, SampleInput{{3, 2}}, SampleInput{{3, 2}}}, along(-1)},
      {"scalars", {SampleInput{{}}, SampleInput{{}}}, along(0)},
      {"one part", {SampleInput{{5}}}, along(0)},
      {"empty values", {SampleInput{{0}}, SampleInput{{0}}}, along(1)},
  };
}

Var join(const OpDef& def, const std::vector<Var>& parts, std::int64_t axis, const Place& place) {
  require(!parts.empty() && parts[0].valid(), "{}: needs at least one value", def.name);
  return parts[0].graph().add(def, parts, {{"axis", axis}}, {}, place).output();
}

// One part is the result; those that are empty for certain add nothing to it.
std::optional<std::vector<Var>> concat_of_parts(Op op) {
  const auto axis = static_cast<std::size_t>(
      normalize_axis(op.attrs().get<std::int64_t>("axis"), op.output().rank()));
  std::vector<Var> parts = op.inputs();
  std::erase_if(parts, [axis](Var part) { return part.shape()[axis] == Dim(0); });
  if (parts.empty()) {
    parts = {op.input(0)};
  }
  const bool is_shorter = parts.size() == 1 || std::ssize(parts) < op.num_inputs();
  if (!is_shorter || !op.graph().constraints(op).empty()) {
    return std::nullopt;
  }
  return std::vector{parts.size() == 1 ? parts[0] : concat(parts, static_cast<std::int64_t>(axis))};
}

Rewrite concat_of_one() {
  return {"concat(x) -> x, without empty parts",
          concat_of_parts,
          {"an empty part",
           {SampleInput{{2, 3}}, SampleInput{{2, 0}}},
           [](Graph&, std::span<const Var> in) {
             return std::vector{concat({in[0], in[1]}, 1)};
           }}};
}

Rewrite stack_of_one() {
  return {"stack(x) -> reshape(x)",
          [](Op op) -> std::optional<std::vector<Var>> {
            return op.num_inputs() == 1
                       ? std::optional(std::vector{reshape(op.input(0), op.output().shape())})
                       : std::nullopt;
          },
          {"one", {SampleInput{{2, 3}}}, [](Graph&, std::span<const Var> in) {
             return std::vector{stack({in[0]}, 1)};
           }}};
}

}  // namespace

const OpDef& concat_def() {
  static const OpDef def{
      .name = "concat",
      .doc = "Joins values along an axis.",
      .attributes = {{"axis", "the axis whose sizes add up"}},
      .dtypes = kAnyDType,
      .infer = infer_concat,
      .vjp = concat_vjp,
      .vmap = vmap_along_axis(true),
      .rewrites = {concat_of_one()},
      .reference = concat_reference,
      .samples = concat_samples,
  };
  return def;
}

const OpDef& stack_def() {
  static const OpDef def{
      .name = "stack",
      .doc = "Joins values of one shape along a new axis.",
      .attributes = {{"axis", "where the new axis stands in the result"}},
      .dtypes = kAnyDType,
      .infer = infer_stack,
      .vmap = vmap_along_axis(true),
      .decompose = decompose_stack,
      .rewrites = {stack_of_one()},
      .reference = stack_reference,
      .samples = stack_samples,
  };
  return def;
}

Var concat(const std::vector<Var>& parts, std::int64_t axis, Place place) {
  return join(concat_def(), parts, axis, place);
}

Var stack(const std::vector<Var>& parts, std::int64_t axis, Place place) {
  return join(stack_def(), parts, axis, place);
}

}  // namespace antichain
