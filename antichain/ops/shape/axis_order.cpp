// Axes in another order, and backwards: transpose, flip.
#include <algorithm>
#include <numeric>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

std::vector<int> permutation_of(const Attrs& attrs) {
  const Ints& permutation = attrs.get<Ints>("permutation");
  return {permutation.begin(), permutation.end()};
}

std::vector<VarType> infer_transpose(InferContext& context) {
  context.require_inputs(1);
  const Ints& permutation = context.attrs().get<Ints>("permutation");
  Ints sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  bool complete = static_cast<int>(sorted.size()) == context.rank(0);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    complete = complete && sorted[i] == static_cast<std::int64_t>(i);
  }
  require<ShapeError>(complete, "transpose: {} is not an order of the {} axes of {}",
                      to_string(permutation), context.rank(0), to_string(context.shape(0)));
  Dims shape;
  for (std::int64_t axis : permutation) {
    shape.push_back(context.shape(0)[static_cast<std::size_t>(axis)]);
  }
  return {{context.dtype(0), shape}};
}

Vars transpose_vjp(VjpContext& context) {
  const Ints& permutation = context.attrs().get<Ints>("permutation");
  Ints inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  }
  return one(transpose(context.grad(), inverse));
}

Rewrite transpose_of_transpose() {
  return {"transpose(transpose(x)) -> transpose(x)",
          [](Op op) -> std::optional<Vars> {
            const Var x = op.input(0);
            if (!made_by(x, transpose_def())) {
              return std::nullopt;
            }
            const Ints& inner = x.producer().attrs().get<Ints>("permutation");
            Ints combined;
            for (std::int64_t axis : op.attrs().get<Ints>("permutation")) {
              combined.push_back(inner[static_cast<std::size_t>(axis)]);
            }
            return one(transpose(x.producer().input(0), combined));
          },
          {"twice", {{{2, 3, 5}}}, [](Graph&, std::span<const Var> in) {
             return one(transpose(transpose(in[0], {1, 2, 0}), {0, 2, 1}));
           }}};
}

Rewrite transpose_of_nothing() {
  return {"transpose(x, axes in order) -> x",
          [](Op op) -> std::optional<Vars> {
            const Ints& permutation = op.attrs().get<Ints>("permutation");
            return std::is_sorted(permutation.begin(), permutation.end())
                       ? std::optional(one(op.input(0)))
                       : std::nullopt;
          },
          {"identity", {{{2, 3}}}, [](Graph& graph, std::span<const Var> in) {
             return graph.add(transpose_def(), {in[0]}, {{"permutation", Ints{0, 1}}}).outputs();
           }}};
}

std::optional<Vars> vmap_transpose(VmapContext& context) {
  Ints permutation =
      axes_behind_copies(context.attrs().get<Ints>("permutation"), context.op().input(0).rank());
  permutation.insert(permutation.begin(), 0);
  return one(transpose(context.value(0), permutation));
}

std::optional<Vars> vmap_flip(VmapContext& context) {
  Attrs attrs = context.attrs();
  attrs.set("axes", axes_behind_copies(attrs.get<Ints>("axes"), context.op().input(0).rank()));
  return context.same_op({context.value(0)}, attrs);
}

Tensor flipped(const KernelContext& context) {
  Tensor view = context.in(0);
  for (std::int64_t axis : context.attr<Ints>("axes")) {
    const std::int64_t size = view.shape()[static_cast<std::size_t>(axis)];
    view = view.slice(static_cast<int>(axis), std::max<std::int64_t>(size - 1, 0), size, -1);
  }
  return view;
}

std::vector<VarType> infer_flip(InferContext& context) {
  context.require_inputs(1);
  context.axes("axes", context.rank(0));
  return {{context.dtype(0), context.shape(0)}};
}

}  // namespace

const OpDef& transpose_def() {
  static const OpDef def{
      .name = "transpose",
      .doc = "Reorders the axes: axis permutation[i] becomes axis i.",
      .attributes = {{"permutation", "the new order of the axes"}},
      .dtypes = kAnyDType,
      .infer = infer_transpose,
      .vjp = transpose_vjp,
      .vmap = vmap_transpose,
      .rewrites = {transpose_of_nothing(), transpose_of_transpose()},
      .reference =
          [](KernelContext& context) {
            context.out().copy_from(context.in(0).transpose(permutation_of(*context.attrs)));
          },
      .view =
          [](const KernelContext& context) {
            return context.in(0).transpose(permutation_of(*context.attrs));
          },
      .samples =
          [] {
            return std::vector<Sample>{
                {"matrix", {{{3, 5}}}, build_one([](Inputs in) { return transpose(in[0]); })},
                {"rank 3", {{{2, 3, 5}}}, build_one([](Inputs in) {
                   return transpose(in[0], {2, 0, 1});
                 })},
                {"vector", {{{7}}}, build_one([](Inputs in) { return transpose(in[0]); })},
                {"empty", {{{3, 0}}}, build_one([](Inputs in) { return transpose(in[0]); })}};
          },
  };
  return def;
}

const OpDef& flip_def() {
  static const OpDef def{
      .name = "flip",
      .doc = "Reverses the order along axes.",
      .attributes = {{"axes", "the axes to reverse"}},
      .dtypes = kAnyDType,
      .infer = infer_flip,
      .vjp =
          [](VjpContext& context) {
            return one(flip(context.grad(), context.attrs().get<Ints>("axes")));
          },
      .vmap = vmap_flip,
      .reference = [](KernelContext& context) { context.out().copy_from(flipped(context)); },
      .view = flipped,
      .samples =
          [] {
            return std::vector<Sample>{
                {"both", {{{3, 5}}}, build_one([](Inputs in) {
                   return flip(in[0], {0, 1});
                 })},
                {"last", {{{3, 5}}}, build_one([](Inputs in) { return flip(in[0], {-1}); })},
                {"empty", {{{0, 2}}}, build_one([](Inputs in) { return flip(in[0], {0}); })}};
          },
  };
  return def;
}

Var transpose(const Operand& x, const Ints& permutation) {
  const int rank = x.var().rank();
  Ints order = permutation;
  for (std::int64_t& axis : order) {
    axis += axis < 0 ? rank : 0;
  }
  if (permutation.empty()) {
    for (int axis = rank; axis-- > 0;) {
      order.push_back(axis);
    }
  }
  return apply(transpose_def(), {x}, {{"permutation", order}});
}

Var swap_axes(const Operand& x, std::int64_t a, std::int64_t b) {
  const int rank = x.var().rank();
  Ints order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(normalize_axis(a, rank))],
            order[static_cast<std::size_t>(normalize_axis(b, rank))]);
  return transpose(x, order);
}

Var move_axis(const Operand& x, std::int64_t from, std::int64_t to) {
  const int rank = x.var().rank(), moved = normalize_axis(from, rank);
  Ints order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + moved);
  order.insert(order.begin() + normalize_axis(to, rank), moved);
  return transpose(x, order);
}

Var flip(const Operand& x, const Ints& axes) {
  Ints resolved;
  for (std::int64_t axis : axes) {
    const int rank = x.var().rank();
    resolved.push_back(axis < 0 && axis >= -rank ? axis + rank : axis);
  }
  return axes.empty() ? x.var() : apply(flip_def(), {x}, {{"axes", resolved}});
}

}  // namespace antichain
