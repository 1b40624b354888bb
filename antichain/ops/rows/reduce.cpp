#include "antichain/ops/rows/reduce.h"

#include <algorithm>

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/reference/reduce_reference.h"
#include "antichain/ops/rows/row_squares.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/shape/slicing.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

Dims kept_shape(Op reduction) {
  Dims shape = reduction.input(0).shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] = is_reduced(reduction.attrs(), axis) ? Dim(1) : shape[axis];
  }
  return shape;
}

namespace {

using Vars = std::vector<Var>;

Var spread(Var reduced, Op op) { return reshape(reduced, kept_shape(op)); }

Dim reduced_count(Op op) {
  Dim count = 1;
  for (std::size_t axis = 0; axis < op.input(0).shape().size(); ++axis) {
    count = is_reduced(op.attrs(), axis) ? count * op.input(0).shape()[axis] : count;
  }
  return count;
}

// The number of reduced elements as a value of x's type.
Var count_value(Op op) {
  return cast(dim_value(op.graph(), reduced_count(op)), op.input(0).dtype());
}

std::vector<VarType> infer_reduce(InferContext& context, DTypeSet dtypes, bool needs_elements) {
  context.require_inputs(1);
  context.require_dtype(0, dtypes);
  const std::vector<int> axes = context.axes("axes", context.rank(0));
  const bool keep = context.attrs().get<bool>("keep_dims");
  Dims shape;
  for (int axis = 0; axis < context.rank(0); ++axis) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), axis);
    const Dim size = context.shape(0)[static_cast<std::size_t>(axis)];
    require<ShapeError>(!(needs_elements && reduced && size.range().max == 0),
                        "{}: there is no element to choose along axis {} of {}", context.op_name(),
                        axis, to_string(context.shape(0)));
    if (!reduced) {
      shape.push_back(size);
    } else if (keep) {
      shape.push_back(1);
    }
  }
  return {{context.dtype(0), shape}};
}

// Elements that tie share the gradient.
Vars choose_vjp(VjpContext& context) {
  const Op op = context.op();
  const Var x = op.input(0);
  const Var winners = cast(equal(x, spread(op.output(), op)), x.dtype());
  const Var count = sum(winners, op.attrs().get<Ints>("axes"), true);
  return {winners * (spread(context.grad(), op) / count)};
}

// The product of the others, exact also where elements are 0: products before and behind each
// element.
Vars prod_vjp(VjpContext& context) {
  const Op op = context.op();
  const Var x = op.input(0);
  Ints reduced, kept;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    (is_reduced(op.attrs(), static_cast<std::size_t>(axis)) ? reduced : kept).push_back(axis);
  }
  Ints order = kept;
  order.insert(order.end(), reduced.begin(), reduced.end());
  Ints inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  const Var moved = transpose(x, order);
  const Dim count = reduced_count(op);
  const Var rows = reshape(moved, {numel(kept_shape(op)), count});
  // others[i][j] multiplies x[k] for all k but j: a matrix with ones on its diagonal, reduced along
  // k.
  const Var position = iota(op.graph(), DType::i64, count);
  const Var diagonal = equal(expand_dims(position, 0), expand_dims(position, 1));
  const Var grid = broadcast_to(expand_dims(rows, 1), {rows.dim(0), count, count});
  const Var others = prod(select(diagonal, ones_like(grid), grid), {2});
  const Var slope = transpose(reshape(others, moved.shape()), inverse);
  return {slope * spread(context.grad(), op)};
}

std::vector<AttrSpec> reduce_attributes() {
  return {{"axes", "axes to reduce; all when empty", {Ints{}}},
          {"keep_dims", "keep reduced axes with size 1", {false}}};
}

std::vector<Sample> reduce_samples(const OpDef& (*self)(), bool with_empty, double low = -2) {
  const auto with = [self](Ints axes, bool keep) {
    return [self, axes, keep](Graph& graph, std::span<const Var> in) {
      return graph.add(self(), {in[0]}, {{"axes", axes}, {"keep_dims", keep}}).outputs();
    };
  };
  std::vector<Sample> samples = {{"all", {{{3, 5}, low}}, with({}, false)},
                                 {"first", {{{3, 5}, low}}, with({0}, false)},
                                 {"last kept", {{{3, 5}, low}}, with({1}, true)},
                                 {"middle", {{{2, 3, 2}, low}}, with({1}, false)},
                                 {"two", {{{2, 3, 2}, low}}, with({0, 2}, false)},
                                 {"scalar", {{{}, low}}, with({}, false)},
                                 {"one element", {{{1}, low}}, with({0}, false)},
                                 {"empty kept axis", {{{0, 3}, low}}, with({1}, false)}};
  if (with_empty) {
    samples.push_back({"empty", {{{0, 3}, low}}, with({0}, false)});
  }
  return samples;
}

struct ReduceRow {
  std::string name, doc;
  const OpDef& (*self)();
  DTypeSet dtypes = kNumbers;
  bool needs_elements = false;
  bool nothing_is_nan = false;  // reducing no element gives NaN, which samples avoid
  std::function<Vars(VjpContext&)> vjp = nullptr;
  std::function<Vars(Op)> decompose = nullptr;
  std::function<void(KernelContext&)> reference;
  std::vector<AttrSpec> more_attributes = {};
};

// Axes are renumbered. What is left has its channels last as well, or has no order to change: no
// channels, or nothing behind them.
std::optional<ChannelsLast> reduce_with_channels_last(Op op) {
  const int rank = op.input(0).rank();
  if (rank < kFewestMovedAxes) {
    return std::nullopt;
  }
  ChannelsLast last{{0}, {}, op.attrs()};
  Ints axes;
  for (std::int64_t axis : op.attrs().get<Ints>("axes")) {
    axes.push_back(moved_axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  last.attrs.set("axes", axes);
  const auto is_kept = [&op](std::size_t axis) { return !is_reduced(op.attrs(), axis); };
  bool keeps_spatial = false;
  for (std::size_t axis = 2; axis < static_cast<std::size_t>(rank); ++axis) {
    keeps_spatial = keeps_spatial || is_kept(axis);
  }
  if (op.attrs().get<bool>("keep_dims") || (is_kept(1) && keeps_spatial)) {
    if (!op.attrs().get<bool>("keep_dims") && !is_kept(0)) {
      return std::nullopt;  // channels would be in front
    }
    last.outputs = {0};
  }
  return last;
}

OpDef reduce_op(ReduceRow row) {
  std::vector<AttrSpec> attributes = reduce_attributes();
  attributes.insert(attributes.end(), row.more_attributes.begin(), row.more_attributes.end());
  return {.name = row.name,
          .doc = row.doc,
          .attributes = attributes,
          .dtypes = row.dtypes,
          .infer = [dtypes = row.dtypes, needs = row.needs_elements](
                       InferContext& context) { return infer_reduce(context, dtypes, needs); },
          .vjp = row.vjp,
          .vmap = vmap_reduction,
          .decompose = row.decompose,
          .reference = row.reference,
          .channels_last = reduce_with_channels_last,
          .samples =
              [self = row.self, with_empty = !row.needs_elements && !row.nothing_is_nan] {
                return reduce_samples(self, with_empty);
              }};
}

Vars mean_decomposition(Op op) {
  const Ints& axes = op.attrs().get<Ints>("axes");
  return {sum(op.input(0), axes, op.attrs().get<bool>("keep_dims")) / count_value(op)};
}

Vars variance_decomposition(Op op) {
  const Ints& axes = op.attrs().get<Ints>("axes");
  const Var centred = op.input(0) - mean(op.input(0), axes, true);
  const Var total = sum(square(centred), axes, op.attrs().get<bool>("keep_dims"));
  return {total / (count_value(op) - op.attrs().get<std::int64_t>("correction"))};
}

}  // namespace

const OpDef& sum_def() {
  static const OpDef def = reduce_op(
      {.name = "sum",
       .doc = "Sum over axes.",
       .self = sum_def,
       .vjp = [](VjpContext& context) -> Vars {
         return {broadcast_to(spread(context.grad(), context.op()), context.input(0).shape())};
       },
       .reference = sum_reference});
  return def;
}

const OpDef& prod_def() {
  static const OpDef def = reduce_op({.name = "prod",
                                      .doc = "Product over axes.",
                                      .self = prod_def,
                                      .vjp = prod_vjp,
                                      .reference = prod_reference});
  return def;
}

const OpDef& mean_def() {
  static const OpDef def = reduce_op({.name = "mean",
                                      .doc = "Mean over axes; of nothing it is NaN.",
                                      .self = mean_def,
                                      .dtypes = kFloats,
                                      .nothing_is_nan = true,
                                      .decompose = mean_decomposition,
                                      .reference = mean_reference});
  return def;
}

const OpDef& reduce_min_def() {
  static const OpDef def = reduce_op({.name = "reduce_min",
                                      .doc = "Smallest element over axes; ties share the gradient.",
                                      .self = reduce_min_def,
                                      .needs_elements = true,
                                      .vjp = choose_vjp,
                                      .reference = min_reference});
  return def;
}

const OpDef& reduce_max_def() {
  static const OpDef def = reduce_op({.name = "reduce_max",
                                      .doc = "Largest element over axes; ties share the gradient.",
                                      .self = reduce_max_def,
                                      .needs_elements = true,
                                      .vjp = choose_vjp,
                                      .reference = max_reference});
  return def;
}

const OpDef& logsumexp_def() {
  static const OpDef def = reduce_op(
      {.name = "logsumexp",
       .doc = "log(sum(exp(x))) without overflow.",
       .self = logsumexp_def,
       .dtypes = kFloats,
       .needs_elements = true,
       .vjp = [](VjpContext& context) -> Vars {
         const Op op = context.op();
         return {exp(context.input(0) - spread(op.output(), op)) * spread(context.grad(), op)};
       },
       .decompose = [](Op op) -> Vars {
         const Ints& axes = op.attrs().get<Ints>("axes");
         const Var largest = max(op.input(0), axes, true);
         // An infinite maximum must not become inf - inf.
         const Var shift = select(is_finite(largest), largest, 0);
         const Var total = log(sum(exp(op.input(0) - shift), axes, true)) + shift;
         return {reshape(total, op.output().shape())};
       },
       .reference = logsumexp_reference});
  return def;
}

const OpDef& variance_def() {
  static const OpDef def = reduce_op(
      {.name = "variance",
       .doc = "Mean squared distance from the mean.",
       .self = variance_def,
       .dtypes = kFloats,
       .nothing_is_nan = true,
       .decompose = variance_decomposition,
       .reference = variance_reference,
       .more_attributes = {{"correction", "subtracted from the count", {std::int64_t{0}}}}});
  return def;
}

namespace {

Attrs reduce_attrs(Var x, const Ints& axes, bool keep_dims) {
  Ints resolved;
  for (std::int64_t axis : axes) {
    resolved.push_back(axis < 0 && axis >= -x.rank() ? axis + x.rank() : axis);
  }
  return {{"axes", resolved}, {"keep_dims", keep_dims}};
}

Var reduce(const OpDef& def, const Operand& x, const Ints& axes, bool keep_dims) {
  return apply(def, {x}, reduce_attrs(x.var(), axes, keep_dims));
}

}  // namespace

Var sum(const Operand& x, const Ints& axes, bool keep_dims) {
  return reduce(sum_def(), x, axes, keep_dims);
}
Var prod(const Operand& x, const Ints& axes, bool keep_dims) {
  return reduce(prod_def(), x, axes, keep_dims);
}
Var mean(const Operand& x, const Ints& axes, bool keep_dims) {
  return reduce(mean_def(), x, axes, keep_dims);
}
Var min(const Operand& x, const Ints& axes, bool keep_dims) {
  return reduce(reduce_min_def(), x, axes, keep_dims);
}
Var max(const Operand& x, const Ints& axes, bool keep_dims) {
  return reduce(reduce_max_def(), x, axes, keep_dims);
}
Var logsumexp(const Operand& x, const Ints& axes, bool keep_dims) {
  return reduce(logsumexp_def(), x, axes, keep_dims);
}
Var variance(const Operand& x, const Ints& axes, bool keep_dims, std::int64_t correction) {
  Attrs attrs = reduce_attrs(x.var(), axes, keep_dims);
  attrs.set("correction", correction);
  return apply(variance_def(), {x}, std::move(attrs));
}

std::vector<const OpDef*> reduce_family() {
  return {&sum_def(),        &prod_def(),      &mean_def(),     &reduce_min_def(),
          &reduce_max_def(), &logsumexp_def(), &variance_def(), &sum_row_squares_def()};
}

}  // namespace antichain
