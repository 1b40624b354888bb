// select, cast and clip: element-wise ops whose operands differ in type or that have attributes.
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

std::vector<VarType> infer_select(InferContext& context) {
  context.require_inputs(3);
  context.require_dtype(0, {DType::boolean});
  const DType dtype = context.require_same_dtype(1);
  Dims shape = context.broadcast(context.shape(0), context.shape(1));
  return {{dtype, context.broadcast(shape, context.shape(2))}};
}

// By selecting, not by multiplying with 0 or 1: an infinite gradient on the other side must not
// make a NaN.
std::vector<Var> select_vjp(VjpContext& context) {
  const Var condition = context.input(0), grad = context.grad();
  const Var zero = scalar(context.graph(), grad.dtype(), 0);
  Var yes, no;
  if (context.needs(1)) {
    yes = sum_to(select(condition, grad, zero), context.input(1).shape());
  }
  if (context.needs(2)) {
    no = sum_to(select(condition, zero, grad), context.input(2).shape());
  }
  return {Var(), yes, no};
}

void select_reference(KernelContext& context) {
  const Tensor& out = context.out();
  const std::vector<std::int64_t> condition =
      load<std::int64_t>(context.in(0).broadcast_to(out.shape()));
  visit_compute(out.dtype(), [&](auto zero) {
    using C = decltype(zero);
    std::vector<C> yes = load<C>(context.in(1).broadcast_to(out.shape()));
    const std::vector<C> no = load<C>(context.in(2).broadcast_to(out.shape()));
    for (std::size_t i = 0; i < yes.size(); ++i) {
      yes[i] = condition[i] ? yes[i] : no[i];
    }
    store(yes, out);
  });
}

std::vector<Sample> select_samples() {
  const auto build = [](Graph&, std::span<const Var> in) {
    return std::vector<Var>{select(in[0], in[1], in[2])};
  };
  return {{"same shape", {{{2, 3}, 0, 2, boolean}, {{2, 3}}, {{2, 3}}}, build},
          {"broadcast", {{{3, 1}, 0, 2, boolean}, {{2}}, {{}}}, build},
          {"empty", {{{0}, 0, 2, boolean}, {{0}}, {{1}}}, build}};
}

std::vector<VarType> infer_cast(InferContext& context) {
  context.require_inputs(1);
  const DType target = context.attrs().get<DType>("dtype");
  VarType type{target, context.shape(0)};
  if (is_integer(target) && is_integer(context.dtype(0))) {
    type.value = context.type(0).value;
  }
  return {type};
}

void cast_reference(KernelContext& context) {
  visit_compute(context.in(0).dtype(),
                [&](auto zero) { store(load<decltype(zero)>(context.in(0)), context.out()); });
}

std::vector<Sample> cast_samples() {
  std::vector<Sample> samples;
  for (DType target : kAnyDType.members()) {
    samples.push_back({"to " + std::string(name(target)),
                       {{{5}, -3, 3}},
                       [target](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{cast(in[0], target)};
                       }});
  }
  return samples;
}

Rewrite cast_to_same() {
  return {"cast(x, dtype of x) -> x",
          [](Op op) -> std::optional<std::vector<Var>> {
            if (op.input(0).dtype() != op.output().dtype()) {
              return std::nullopt;
            }
            return std::vector<Var>{op.input(0)};
          },
          {"same type", {{{3}}}, [](Graph& graph, std::span<const Var> in) {
             return graph.add(cast_def(), {in[0]}, {{"dtype", in[0].dtype()}}).outputs();
           }}};
}

std::vector<VarType> infer_clip(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, kFloats);
  const double low = context.attrs().get<double>("low"), high = context.attrs().get<double>("high");
  require(low <= high, "clip: low {} is above high {}", low, high);
  return {{context.dtype(0), context.shape(0)}};
}

std::vector<Var> clip_vjp(VjpContext& context) {
  const Var x = context.input(0);
  const Var inside = logical_and(greater_equal(x, context.attrs().get<double>("low")),
                                 less_equal(x, context.attrs().get<double>("high")));
  return {select(inside, context.grad(), 0)};
}

}  // namespace

const OpDef& select_def() {
  static const OpDef def{
      .name = "select",
      .doc = "Elements of the second input where the first is true, of the third elsewhere.",
      .dtypes = kAnyDType,
      .infer = infer_select,
      .vjp = select_vjp,
      .vmap = vmap_elementwise,
      .reference = select_reference,
      .samples = select_samples,
  };
  return def;
}

const OpDef& cast_def() {
  static const OpDef def{
      .name = "cast",
      .doc =
          "Converts to another element type: floats to integers by truncation, saturating, NaN to "
          "0.",
      .attributes = {{"dtype", "the type to convert to"}},
      .dtypes = kAnyDType,
      .infer = infer_cast,
      .vjp =
          [](VjpContext& context) {
            return std::vector<Var>{cast(context.grad(), context.input(0).dtype())};
          },
      .vmap = vmap_elementwise,
      .rewrites = {cast_to_same()},
      .reference = cast_reference,
      .samples = cast_samples,
  };
  return def;
}

const OpDef& clip_def() {
  static const OpDef def{
      .name = "clip",
      .doc = "Keeps values within [low, high]; the gradient passes where nothing was cut.",
      .attributes = {{"low", "smallest result"}, {"high", "largest result"}},
      .infer = infer_clip,
      .vjp = clip_vjp,
      .vmap = vmap_elementwise,
      .decompose =
          [](Op op) {
            // Not by minimum and maximum, which halve the gradient at a bound.
            const Var x = op.input(0);
            const double low = op.attrs().get<double>("low"), high = op.attrs().get<double>("high");
            return std::vector<Var>{
                select(less(x, low), full(x.graph(), x.dtype(), x.shape(), low),
                       select(greater(x, high), full(x.graph(), x.dtype(), x.shape(), high), x))};
          },
      .reference =
          [](KernelContext& context) {
            std::vector<double> values = load<double>(context.in(0));
            for (double& value : values) {
              value = value < context.attr<double>("low")    ? context.attr<double>("low")
                      : value > context.attr<double>("high") ? context.attr<double>("high")
                                                             : value;
            }
            store(values, context.out());
          },
      .samples =
          [] {
            const auto build = [](Graph&, std::span<const Var> in) {
              return std::vector<Var>{clip(in[0], -0.75, 1.25)};
            };
            return std::vector<Sample>{{"matrix", {{{3, 5}}}, build}, {"empty", {{{0}}}, build}};
          },
  };
  return def;
}

Var select(const Operand& condition, const Operand& yes, const Operand& no) {
  require(yes.is_var() || no.is_var(), "select: one of the two choices must be a value of a graph");
  const Var value = yes.is_var() ? yes.var() : no.var();
  Graph& graph = value.graph();
  return graph
      .add(select_def(),
           {condition.var(), yes.as(graph, value.dtype()), no.as(graph, value.dtype())}, {}, {},
           condition.location())
      .output();
}

Var cast(const Operand& x, DType dtype) {
  return x.var().dtype() == dtype ? x.var() : apply(cast_def(), {x}, {{"dtype", dtype}});
}

Var clip(const Operand& x, double low, double high) {
  return apply(clip_def(), {x}, {{"low", low}, {"high", high}});
}

std::vector<const OpDef*> elementwise_other_family() {
  return {&select_def(), &cast_def(), &clip_def()};
}

}  // namespace antichain
