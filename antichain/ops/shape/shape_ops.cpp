#include "antichain/ops/shape/shape_ops.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/dynamic_shape.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

std::vector<VarType> infer_reshape(InferContext& context) {
  context.require_inputs(1);
  const Dims& shape = context.attrs().get<Dims>("shape");
  require_sizes(shape, context.op_name());
  const Dim have = numel(context.shape(0)), want = numel(shape);
  require<ShapeError>(!never_equal(have, want), "reshape: {} elements in {} do not fit {}",
                      have.str(), to_string(context.shape(0)), to_string(shape));
  context.unify(have, want, "element counts");
  VarType type{context.dtype(0), shape};
  if (shape.size() <= 1) {
    type.value = context.type(0).value;
  }
  return {type};
}

// A reshape that leaves batch and channels alone, as do many that flatten or unfold spatial axes.
std::optional<ChannelsLast> reshape_with_channels_last(Op op) {
  const Dims &from = op.input(0).shape(), &to = op.output().shape();
  const auto keeps = [&](std::size_t axis) { return from[axis] == to[axis]; };
  if (from.size() < 2 || to.size() < 2 || !keeps(0) || !keeps(1)) {
    return std::nullopt;
  }
  const auto moved = [](const Dims& shape) {
    return std::ssize(shape) >= kFewestMovedAxes ? std::vector<int>{0} : std::vector<int>{};
  };
  ChannelsLast last{moved(from), moved(to), op.attrs()};
  last.attrs.set("shape", to.size() > 2 ? channels_moved(to) : to);
  return last;
}

void copy_packed(KernelContext& context) {
  context.out().copy_from(context.in(0).reshape(context.out().shape()));
}

Rewrite reshape_of_reshape() {
  return {"reshape(reshape(x)) -> reshape(x)",
          [](Op op) -> std::optional<Vars> {
            const Var x = op.input(0);
            if (!made_by(x, reshape_def())) {
              return std::nullopt;
            }
            return one(reshape(x.producer().input(0), op.output().shape()));
          },
          {"twice", {{{2, 6}}}, [](Graph&, std::span<const Var> in) {
             return one(reshape(reshape(in[0], {3, 4}), {12}));
           }}};
}

Rewrite reshape_to_same() {
  return {"reshape(x, shape of x) -> x",
          [](Op op) -> std::optional<Vars> {
            return op.input(0).shape() == op.output().shape() ? std::optional(one(op.input(0)))
                                                              : std::nullopt;
          },
          {"same", {{{2, 3}}}, [](Graph& graph, std::span<const Var> in) {
             return graph.add(reshape_def(), {in[0]}, {{"shape", Dims{2, 3}}}).outputs();
           }}};
}

Rewrite reshape_of_repeated_number() {
  return {"reshape(broadcast_to(number)) -> broadcast_to(number)",
          [](Op op) -> std::optional<Vars> {
            const Var x = op.input(0);
            if (!made_by(x, broadcast_to_def()) || x.producer().input(0).rank() != 0) {
              return std::nullopt;
            }
            return one(broadcast_to(x.producer().input(0), op.output().shape()));
          },
          {"repeated number", {{{}}}, [](Graph&, std::span<const Var> in) {
             return one(reshape(broadcast_to(in[0], {6}), {2, 3}));
           }}};
}

std::optional<Vars> vmap_reshape(VmapContext& context) {
  const Dims& shape = context.op().output().shape();
  return one(reshape(context.value(0), context.with_copies(shape)));
}

}  // namespace

const OpDef& reshape_def() {
  static const OpDef def{
      .name = "reshape",
      .doc = "The same elements in another shape.",
      .attributes = {{"shape", "the new shape"}},
      .dtypes = kAnyDType,
      .infer = infer_reshape,
      .vjp =
          [](VjpContext& context) {
            return one(reshape(context.grad(), context.input(0).shape()));
          },
      .vmap = vmap_reshape,
      .rewrites = {reshape_to_same(), reshape_of_reshape(), reshape_of_repeated_number()},
      .reference = copy_packed,
      .view =
          [](const KernelContext& context) {
            const Tensor& x = context.in(0);
            return x.is_contiguous() ? x.reshape(context.out().shape()) : Tensor();
          },
      .channels_last = reshape_with_channels_last,
      .samples =
          [] {
            return std::vector<Sample>{
                {"matrix", {{{3, 4}}}, build_one([](Inputs in) {
                   return reshape(in[0], {2, 6});
                 })},
                {"inferred", {{{3, 4}}}, build_one([](Inputs in) {
                   return reshape(in[0], {2, -1, 2});
                 })},
                {"scalar", {{{1, 1}}}, build_one([](Inputs in) { return reshape(in[0], Dims{}); })},
                {"empty", {{{0, 3}}}, build_one([](Inputs in) {
                   return reshape(in[0], {5, 0});
                 })}};
          },
  };
  return def;
}

const OpDef& reshape_dynamic_def() {
  static const OpDef def{
      .name = "reshape_dynamic",
      .doc = "The same elements in a shape that is computed in the graph.",
      .dtypes = kAnyDType,
      .shape_from_data = true,
      .infer = infer_to_dynamic_shape,
      .vjp =
          [](VjpContext& context) {
            return Vars{reshape(context.grad(), context.input(0).shape()), Var()};
          },
      .no_vmap = kSizesOfEachCopy,
      .reference =
          [](KernelContext& context) {
            context.out() = context.in(0).reshape(load<std::int64_t>(context.in(1)));
          },
      .samples =
          [] {
            return std::vector<Sample>{
                {"matrix", {{{3, 4}}, {{2}, 0, 0, i64, {2, 6}, true}}, build_one([](Inputs in) {
                   return reshape(in[0], in[1]);
                 })}};
          },
  };
  return def;
}

Var reshape(const Operand& x, const Dims& shape) {
  const Var value = x.var();
  Dims resolved = shape;
  Dim known = 1;
  Dim* open = nullptr;
  for (Dim& dim : resolved) {
    if (dim == Dim(-1)) {
      require<ShapeError>(open == nullptr, "reshape: only one size may be -1, got {}",
                          to_string(shape));
      open = &dim;
    } else {
      known = known * dim;
    }
  }
  if (open) {
    *open = numel(value.shape()) / known;
  }
  return resolved == value.shape() ? value : apply(reshape_def(), {x}, {{"shape", resolved}});
}

Var reshape(const Operand& x, Var shape) {
  return shape.type().value ? reshape(x, *shape.type().value)
                            : apply(reshape_dynamic_def(), {x, shape});
}

Var expand_dims(const Operand& x, std::int64_t axis) {
  Dims shape = x.var().shape();
  shape.insert(shape.begin() + normalize_axis(axis, x.var().rank() + 1), Dim(1));
  return reshape(x, shape);
}

Var squeeze(const Operand& x, std::int64_t axis) {
  Dims shape = x.var().shape();
  const int position = normalize_axis(axis, x.var().rank());
  const Dim size = shape[static_cast<std::size_t>(position)];
  require<ShapeError>(!never_equal(size, 1), "squeeze: axis {} of {} has size {}, not 1", axis,
                      to_string(shape), size.str());
  shape.erase(shape.begin() + position);
  return reshape(x, shape);
}

std::vector<const OpDef*> shape_family() {
  return {&reshape_def(),           &reshape_dynamic_def(), &transpose_def(), &broadcast_to_def(),
          &broadcast_dynamic_def(), &sum_to_def(),          &flip_def(),      &tile_def()};
}

}  // namespace antichain
