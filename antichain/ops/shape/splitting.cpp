// split.
#include <algorithm>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/convolution/cut.h"
#include "antichain/ops/shape/require_size.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

std::vector<VarType> infer_split(InferContext& context) {
  context.require_inputs(1);
  const VarType& x = context.type(0);
  const auto axis = static_cast<std::size_t>(context.axis("axis", context.rank(0)));
  const Dims& sizes = context.attrs().get<Dims>("sizes");
  require(!sizes.empty(), "{}: needs at least one size", context.op_name());
  std::vector<VarType> parts;
  Dim total = 0;
  for (Dim size : sizes) {
    require_size(context, size, "the size of a part");
    VarType part{x.dtype, x.shape};
    part.shape[axis] = size;
    parts.push_back(part);
    total = total + size;
  }
  context.unify(total, x.shape[axis], "the sum of the sizes and the axis");
  if (x.value && x.shape.size() == 1 &&
      std::all_of(sizes.begin(), sizes.end(), [](Dim d) { return d.is_constant(); })) {
    auto next = x.value->begin();
    for (VarType& part : parts) {
      const auto end = next + part.shape[axis].constant();
      part.value.emplace(next, end);
      next = end;
    }
  }
  return parts;
}

std::vector<Var> decompose_split(Op op) {
  const Var x = op.input(0);
  const auto axis =
      static_cast<std::size_t>(normalize_axis(op.attrs().get<std::int64_t>("axis"), x.rank()));
  std::vector<Var> parts;
  Dims starts(static_cast<std::size_t>(x.rank()), 0);
  for (Dim size : op.attrs().get<Dims>("sizes")) {
    Dims shape = x.shape();
    shape[axis] = size;
    parts.push_back(cut(x, starts, shape));
    starts[axis] = starts[axis] + size;
  }
  return parts;
}

std::vector<Var> split_vjp(VjpContext& context) {
  std::vector<Var> grads;
  for (int i = 0; i < context.op().num_outputs(); ++i) {
    grads.push_back(context.grad(i));
  }
  return {concat(grads, context.attrs().get<std::int64_t>("axis"))};
}

std::optional<std::vector<Var>> vmap_split(VmapContext& context) {
  const Var given = context.given(0).value;
  Attrs attrs = context.attrs();
  const int axis =
      normalize_axis(attrs.get<std::int64_t>("axis"), context.op().input(0).rank()) + 1;
  attrs.set("axis", static_cast<std::int64_t>(axis));
  return context.same_op({given.dim(axis) == Dim(1) ? context.value(0) : given}, attrs);
}

void split_reference(KernelContext& context) {
  const Tensor& x = context.in(0);
  const int axis = context.axis("axis", x.rank());
  std::int64_t start = 0;
  for (int i = 0; i < context.num_outputs(); ++i) {
    const Tensor& part = context.out(i);
    const std::int64_t size = part.shape()[static_cast<std::size_t>(axis)];
    part.copy_from(x.slice(axis, start, size));
    start += size;
  }
}

std::vector<Sample> split_samples() {
  const auto with = [](const Dims& sizes, std::int64_t axis) {
    return [=](Graph&, std::span<const Var> in) { return split(in[0], sizes, axis); };
  };
  return {
      {"first axis", {SampleInput{{7, 2}}}, with({2, 4, 1}, 0)},
      {"last axis", {SampleInput{{2, 5}}}, with({3, 2}, -1)},
      {"one part", {SampleInput{{1}}}, with({1}, 0)},
      {"an empty part", {SampleInput{{3}}}, with({1, 0, 2}, 0)},
      {"empty value", {SampleInput{{0, 3}}}, with({1, 2}, 1)},
  };
}

}  // namespace

const OpDef& split_def() {
  static const OpDef def{
      .name = "split",
      .doc = "Cuts an axis into parts, one output each.",
      .attributes = {{"sizes", "sizes of the parts"}, {"axis", "the axis to cut"}},
      .dtypes = kAnyDType,
      .infer = infer_split,
      .vjp = split_vjp,
      .vmap = vmap_split,
      .decompose = decompose_split,
      // Parts can be views of the whole, one by one.
      .rewrites = {{"split(x) -> cuts of x",
                    [](Op op) {
                      return op.graph().constraints(op).empty() ? std::optional(decompose_split(op))
                                                                : std::nullopt;
                    },
                    {"two parts",
                     {SampleInput{{2, 5}}},
                     [](Graph&, std::span<const Var> in) {
                       return split(in[0], {3, 2}, 1);
                     }}}},
      .reference = split_reference,
      .samples = split_samples,
  };
  return def;
}

std::vector<Var> split(const Operand& x, const Dims& sizes, std::int64_t axis) {
  return apply_all(split_def(), {x}, {{"sizes", sizes}, {"axis", axis}});
}

}  // namespace antichain
