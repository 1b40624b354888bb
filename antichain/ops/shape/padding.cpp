// pad.
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/graph/kernel_context.h"
#include "antichain/ops/convolution/cut.h"
#include "antichain/ops/reference/window.h"
#include "antichain/ops/shape/require_size.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

std::vector<VarType> infer_pad(InferContext& context) {
  context.require_inputs(1);
  const Dims& before = context.attrs().get<Dims>("before");
  const Dims& after = context.attrs().get<Dims>("after");
  Dims shape = context.shape(0);
  require<ShapeError>(before.size() == shape.size() && after.size() == shape.size(),
                      "{}: a value of shape {} needs {} sizes before and after, got {} and {}",
                      context.op_name(), to_string(shape), shape.size(), before.size(),
                      after.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    require_size(context, before[i], "padding");
    require_size(context, after[i], "padding");
    shape[i] = before[i] + shape[i] + after[i];
  }
  return {{context.dtype(0), shape}};
}

std::vector<Var> pad_vjp(VjpContext& context) {
  return {cut(context.grad(), context.attrs().get<Dims>("before"), context.input(0).shape())};
}

std::optional<std::vector<Var>> vmap_pad(VmapContext& context) {
  Attrs attrs = context.attrs();
  for (const char* side : {"before", "after"}) {
    Dims sizes = attrs.get<Dims>(side);
    sizes.insert(sizes.begin(), Dim(0));
    attrs.set(side, sizes);
  }
  return context.same_op({context.value(0)}, attrs);
}

void pad_reference(KernelContext& context) {
  const Tensor &out = context.out(), &x = context.in(0);
  const Tensor value = Tensor::full(out.dtype(), {}, context.attr<double>("value"));
  out.copy_from(value.broadcast_to(out.shape()));
  window(out, context.sizes("before"), x.shape()).copy_from(x);
}

std::vector<Sample> pad_samples() {
  const auto with = [](const Dims& before, const Dims& after, double value) {
    return [=](Graph&, std::span<const Var> in) {
      return std::vector<Var>{pad(in[0], before, after, value)};
    };
  };
  return {
      {"both sides", {SampleInput{{3, 2}}}, with({1, 2}, {2, 0}, 0)},
      {"with a value", {SampleInput{{5}}}, with({2}, {1}, 3)},
      {"nothing", {SampleInput{{2, 3}}}, with({0, 0}, {0, 0}, 0)},
      {"one element", {SampleInput{{1}}}, with({0}, {1}, 1)},
      {"empty value", {SampleInput{{0, 2}}}, with({1, 1}, {2, 0}, 1)},
      {"rank 0", {SampleInput{{}}}, with({}, {}, 1)},
  };
}

}  // namespace

const OpDef& pad_def() {
  static const OpDef def{
      .name = "pad",
      .doc = "Surrounds a value with elements of one number.",
      .attributes = {{"before", "elements to add in front of each axis"},
                     {"after", "elements to add behind each axis"},
                     {"value", "the number to add", {0.0}}},
      .dtypes = kAnyDType,
      .infer = infer_pad,
      .vjp = pad_vjp,
      .vmap = vmap_pad,
      .rewrites = {{"pad(x) by nothing -> x",
                    [](Op op) -> std::optional<std::vector<Var>> {
                      const bool is_same = op.input(0).shape() == op.output().shape() &&
                                           op.graph().constraints(op).empty();
                      return is_same ? std::optional(std::vector{op.input(0)}) : std::nullopt;
                    },
                    {"nothing",
                     {SampleInput{{2, 3}}},
                     [](Graph&, std::span<const Var> in) {
                       return std::vector{pad(in[0], {0, 0}, {0, 0}, 0)};
                     }}}},
      .reference = pad_reference,
      .samples = pad_samples,
  };
  return def;
}

Var pad(const Operand& x, const Dims& before, const Dims& after, double value) {
  return apply(pad_def(), {x}, {{"before", before}, {"after", after}, {"value", value}});
}

}  // namespace antichain
