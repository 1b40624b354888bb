// broadcast_to, its transpose sum_to, and tile. Declared to users by
// antichain/ops/shape/shape_ops.h.
#include <numeric>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/dynamic_shape.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

// Checks that `from` broadcasts to `to`.
void require_broadcast(InferContext& context, const Dims& from, const Dims& to) {
  const auto refuse = [&] {
    fail<ShapeError>("{}: shape {} does not broadcast to {}", context.op_name(), to_string(from),
                     to_string(to));
  };
  if (from.size() > to.size()) {
    refuse();
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Dim source = from[i], target = to[to.size() - from.size() + i];
    if (!(source == Dim(1))) {
      if (never_equal(source, target)) {
        refuse();
      }
      context.unify(source, target, "broadcast sizes");
    }
  }
}

std::vector<VarType> infer_broadcast_to(InferContext& context) {
  context.require_inputs(1);
  const Dims& shape = context.attrs().get<Dims>("shape");
  require_sizes(shape, context.op_name());
  require_broadcast(context, context.shape(0), shape);
  return {{context.dtype(0), shape}};
}

// Of a value with the same axes, or of a number.
std::optional<ChannelsLast> broadcast_with_channels_last(Op op) {
  const int rank = op.output().rank(), from = op.input(0).rank();
  if (rank < kFewestMovedAxes || (from != 0 && from != rank)) {
    return std::nullopt;
  }
  ChannelsLast last{from == 0 ? std::vector<int>{} : std::vector<int>{0}, {0}, op.attrs()};
  last.attrs.set("shape", channels_moved(op.output().shape()));
  return last;
}

// To a value with the same axes, or to one, such as a bias, whose elements keep their order.
std::optional<ChannelsLast> sum_to_with_channels_last(Op op) {
  const int rank = op.input(0).rank(), missing = rank - op.output().rank();
  if (rank < kFewestMovedAxes) {
    return std::nullopt;
  }
  Dims shape(static_cast<std::size_t>(missing), Dim(1));
  shape.insert(shape.end(), op.output().shape().begin(), op.output().shape().end());
  if (missing > 0 && moves_elements(shape)) {
    return std::nullopt;
  }
  ChannelsLast last{{0}, missing == 0 ? std::vector<int>{0} : std::vector<int>{}, op.attrs()};
  last.attrs.set("shape", channels_moved(shape));
  return last;
}

std::vector<VarType> infer_sum_to(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, kNumbers);
  const Dims& shape = context.attrs().get<Dims>("shape");
  require_broadcast(context, shape, context.shape(0));
  return {{context.dtype(0), shape}};
}

void sum_to_reference(KernelContext& context) {
  const Tensor &x = context.in(0), &out = context.out();
  visit_compute(x.dtype(), [&](auto zero) {
    using C = decltype(zero);
    // Numbering the outputs and broadcasting the numbers says where each input element goes.
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(out.numel()));
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto target =
        load<std::int64_t>(Tensor::of(out.shape(), numbers).broadcast_to(x.shape()));
    const std::vector<C> values = load<C>(x);
    std::vector<C> totals(numbers.size(), zero);
    for (std::size_t i = 0; i < values.size(); ++i) {
      totals[static_cast<std::size_t>(target[i])] += values[i];
    }
    store(totals, out);
  });
}

std::optional<Vars> vmap_broadcast_to(VmapContext& context) {
  const Dims& shape = context.op().output().shape();
  const Var x = aligned_input(context, 0, static_cast<int>(shape.size()));
  return one(broadcast_to(x, context.with_copies(shape)));
}

// The axes that sum_to adds up; none where that depends on sizes.
std::optional<Ints> summed_axes(Op op) {
  const Dims &from = op.input(0).shape(), &to = op.output().shape();
  const std::size_t added = from.size() - to.size();
  Ints axes;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < added || !(from[i] == to[i - added])) {
      if (i >= added && !(to[i - added] == Dim(1))) {
        return std::nullopt;
      }
      axes.push_back(static_cast<std::int64_t>(i + 1));
    }
  }
  return axes;
}

std::optional<Vars> vmap_sum_to(VmapContext& context) {
  const Op op = context.op();
  const Dims& shape = op.output().shape();
  const Var x = context.value(0);
  const std::optional<Ints> axes = summed_axes(op);
  if (axes) {
    return axes->empty() ? Vars{x} : Vars{reshape(sum(x, *axes), context.with_copies(shape))};
  }
  Dims kept(static_cast<std::size_t>(op.input(0).rank() - op.output().rank()), Dim(1));
  kept.insert(kept.end(), shape.begin(), shape.end());
  return one(reshape(sum_to(x, context.with_copies(kept)), context.with_copies(shape)));
}

std::vector<VarType> infer_tile(InferContext& context) {
  context.require_inputs(1);
  const Ints& counts = context.attrs().get<Ints>("counts");
  require<ShapeError>(static_cast<int>(counts.size()) == context.rank(0),
                      "tile: {} counts for a value of rank {}", counts.size(), context.rank(0));
  Dims shape = context.shape(0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    require<ShapeError>(counts[i] >= 0, "tile: count {} is negative", counts[i]);
    shape[i] = shape[i] * counts[i];
  }
  return {{context.dtype(0), shape}};
}

// [a, b] -> [1, a, 1, b] -> [m, a, n, b] -> [m·a, n·b]
Vars decompose_tile(Op op) {
  const Ints& counts = op.attrs().get<Ints>("counts");
  const Var x = op.input(0);
  Dims apart, repeated;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    apart.insert(apart.end(), {Dim(1), x.shape()[i]});
    repeated.insert(repeated.end(), {Dim(counts[i]), x.shape()[i]});
  }
  return one(reshape(broadcast_to(reshape(x, apart), repeated), op.output().shape()));
}

void tile_reference(KernelContext& context) {
  const Tensor& x = context.in(0);
  Shape apart, repeated;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    apart.insert(apart.end(), {1, x.shape()[i]});
    repeated.insert(repeated.end(), {context.attr<Ints>("counts")[i], x.shape()[i]});
  }
  context.out().copy_from(
      x.reshape(apart).broadcast_to(repeated).contiguous().reshape(context.out().shape()));
}

}  // namespace

const OpDef& broadcast_to_def() {
  static const OpDef def{
      .name = "broadcast_to",
      .doc = "Repeats axes of size 1 and adds leading axes.",
      .attributes = {{"shape", "the new shape"}},
      .dtypes = kAnyDType,
      .infer = infer_broadcast_to,
      .vjp =
          [](VjpContext& context) { return one(sum_to(context.grad(), context.input(0).shape())); },
      .vmap = vmap_broadcast_to,
      .rewrites =
          {{"broadcast_to(x, shape of x) -> x",
            [](Op op) -> std::optional<Vars> {
              return op.input(0).shape() == op.output().shape() ? std::optional(one(op.input(0)))
                                                                : std::nullopt;
            },
            {"same",
             {{{2, 3}}},
             [](Graph& graph, std::span<const Var> in) {
               return graph.add(broadcast_to_def(), {in[0]}, {{"shape", Dims{2, 3}}}).outputs();
             }}}},
      .reference =
          [](KernelContext& context) {
            context.out().copy_from(context.in(0).broadcast_to(context.out().shape()));
          },
      .view =
          [](const KernelContext& context) {
            return context.in(0).broadcast_to(context.out().shape());
          },
      .channels_last = broadcast_with_channels_last,
      .samples =
          [] {
            return std::vector<Sample>{
                {"rows", {{{3, 1}}}, build_one([](Inputs in) {
                   return broadcast_to(in[0], {2, 3, 5});
                 })},
                {"scalar", {{{}}}, build_one([](Inputs in) { return broadcast_to(in[0], {3}); })},
                {"to nothing", {{{1, 2}}}, build_one([](Inputs in) {
                   return broadcast_to(in[0], {0, 2});
                 })}};
          },
  };
  return def;
}

const OpDef& broadcast_dynamic_def() {
  static const OpDef def{
      .name = "broadcast_dynamic",
      .doc = "Broadcasts to a shape that is computed in the graph.",
      .dtypes = kAnyDType,
      .shape_from_data = true,
      .infer = infer_to_dynamic_shape,
      .vjp =
          [](VjpContext& context) {
            return Vars{sum_to(context.grad(), context.input(0).shape()), Var()};
          },
      .no_vmap = kSizesOfEachCopy,
      .reference =
          [](KernelContext& context) {
            context.out() =
                context.in(0).broadcast_to(load<std::int64_t>(context.in(1))).contiguous();
          },
      .samples =
          [] {
            return std::vector<Sample>{
                {"rows", {{{1, 3}}, {{2}, 0, 0, i64, {5, 3}, true}}, build_one([](Inputs in) {
                   return broadcast_to(in[0], in[1]);
                 })}};
          },
  };
  return def;
}

const OpDef& sum_to_def() {
  static const OpDef def{
      .name = "sum_to",
      .doc = "Adds up what broadcasting repeated: the transpose of broadcast_to.",
      .attributes = {{"shape", "the shape before broadcasting"}},
      .dtypes = kNumbers,
      .infer = infer_sum_to,
      .vjp =
          [](VjpContext& context) {
            return one(broadcast_to(context.grad(), context.input(0).shape()));
          },
      .vmap = vmap_sum_to,
      .reference = sum_to_reference,
      .channels_last = sum_to_with_channels_last,
      .samples =
          [] {
            return std::vector<Sample>{
                {"rows", {{{2, 3, 5}}}, build_one([](Inputs in) {
                   return sum_to(in[0], {3, 1});
                 })},
                {"scalar", {{{7}}}, build_one([](Inputs in) { return sum_to(in[0], Dims{}); })},
                {"empty", {{{0, 3}}}, build_one([](Inputs in) { return sum_to(in[0], {3}); })}};
          },
  };
  return def;
}

const OpDef& tile_def() {
  static const OpDef def{
      .name = "tile",
      .doc = "Repeats the whole value along its axes.",
      .attributes = {{"counts", "how often, per axis"}},
      .dtypes = kAnyDType,
      .infer = infer_tile,
      .decompose = decompose_tile,
      .reference = tile_reference,
      .samples =
          [] {
            return std::vector<Sample>{
                {"matrix", {{{2, 3}}}, build_one([](Inputs in) {
                   return tile(in[0], {3, 2});
                 })},
                {"once", {{{5}}}, build_one([](Inputs in) { return tile(in[0], {1}); })},
                {"never", {{{5}}}, build_one([](Inputs in) { return tile(in[0], {0}); })}};
          },
  };
  return def;
}

Var broadcast_to(const Operand& x, const Dims& shape) {
  return x.var().shape() == shape ? x.var() : apply(broadcast_to_def(), {x}, {{"shape", shape}});
}

Var broadcast_to(const Operand& x, Var shape) {
  return shape.type().value ? broadcast_to(x, *shape.type().value)
                            : apply(broadcast_dynamic_def(), {x, shape});
}

Var sum_to(const Operand& x, const Dims& shape) {
  return x.var().shape() == shape ? x.var() : apply(sum_to_def(), {x}, {{"shape", shape}});
}

Var tile(const Operand& x, const Ints& counts) {
  return apply(tile_def(), {x}, {{"counts", counts}});
}

}  // namespace antichain
