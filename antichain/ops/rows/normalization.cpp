#include "antichain/ops/rows/normalization.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/reference/moments.h"
#include "antichain/ops/rows/normalization_gradients.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

std::vector<VarType> infer_softmax(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, kFloats);
  context.axis("axis", context.rank(0));
  return {{context.dtype(0), context.shape(0)}};
}

// Calls f(first element, step, count) for every line along the axis.
template <class F>
void for_each_line(const Shape& shape, int axis, F f) {
  const AxisSplit split(shape, axis);
  for (std::int64_t outer = 0; outer < split.outer; ++outer) {
    for (std::int64_t inner = 0; inner < split.inner; ++inner) {
      f(outer * split.size * split.inner + inner, split.inner, split.size);
    }
  }
}

void softmax_reference(KernelContext& context, bool logarithm) {
  const Tensor& x = context.in(0);
  std::vector<double> values = load<double>(x);
  for_each_line(x.shape(), context.axis("axis", x.rank()), [&](auto first, auto step, auto count) {
    double largest = -INFINITY, total = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      largest = std::max(largest, values[static_cast<std::size_t>(first + i * step)]);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      total += std::exp(values[static_cast<std::size_t>(first + i * step)] - largest);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      double& value = values[static_cast<std::size_t>(first + i * step)];
      value = logarithm ? value - largest - std::log(total) : std::exp(value - largest) / total;
    }
  });
  store(values, context.out());
}

std::vector<Sample> softmax_samples(const OpDef& (*self)()) {
  const auto with = [self](std::int64_t axis) {
    return [self, axis](Graph& graph, std::span<const Var> in) {
      return graph.add(self(), {in[0]}, {{"axis", axis}}).outputs();
    };
  };
  return {{"last", {{{3, 5}}}, with(-1)},
          {"first", {{{3, 5}}}, with(0)},
          {"large values", {{{2, 3}, 500, 510}}, with(1)},
          {"one element", {{{1}}}, with(0)},
          {"empty", {{{0, 3}}}, with(1)}};
}

const OpDef& softmax_def() {
  static const OpDef def{
      .name = "softmax",
      .doc = "exp(x) normalised to sum 1 along an axis, without overflow.",
      .attributes = {{"axis", "the axis to normalise", {std::int64_t{-1}}}},
      .infer = infer_softmax,
      .vjp =
          [](VjpContext& context) {
            const Var y = context.output();
            const std::int64_t axis = context.attrs().get<std::int64_t>("axis");
            if (axis == -1 || axis == y.rank() - 1) {
              return Vars{softmax_gradient(context.grad(), y)};
            }
            const Var scaled = context.grad() * y;
            return Vars{scaled - y * sum(scaled, {axis}, true)};
          },
      .vmap = vmap_along_axis(),
      .decompose =
          [](Op op) {
            const Ints axis = {op.attrs().get<std::int64_t>("axis")};
            const Var e = exp(op.input(0) - max(op.input(0), axis, true));
            return Vars{e / sum(e, axis, true)};
          },
      .reference = [](KernelContext& context) { softmax_reference(context, false); },
      .samples = [] { return softmax_samples(softmax_def); },
  };
  return def;
}

const OpDef& log_softmax_def() {
  static const OpDef def{
      .name = "log_softmax",
      .doc = "log(softmax(x)) without overflow.",
      .attributes = {{"axis", "the axis to normalise", {std::int64_t{-1}}}},
      .infer = infer_softmax,
      .vjp =
          [](VjpContext& context) {
            const Ints axis = {context.attrs().get<std::int64_t>("axis")};
            return Vars{context.grad() - exp(context.output()) * sum(context.grad(), axis, true)};
          },
      .vmap = vmap_along_axis(),
      .decompose =
          [](Op op) {
            return Vars{op.input(0) -
                        logsumexp(op.input(0), {op.attrs().get<std::int64_t>("axis")}, true)};
          },
      .reference = [](KernelContext& context) { softmax_reference(context, true); },
      .samples = [] { return softmax_samples(log_softmax_def); },
  };
  return def;
}

constexpr std::int64_t kFewClasses = 1024;  // marks of all classes take little memory

// True for the class of each row, which must be one.
Var marks_of(Var logits, Var labels) {
  return apply(one_hot_def(), {labels},
               {{"classes", logits.dim(-1)}, {"dtype", DType::boolean}, {"checked", true}});
}

std::vector<VarType> infer_cross_entropy(InferContext& context) {
  context.require_inputs(2);
  context.require_dtype(0, kFloats);
  context.require_dtype(1, {DType::i64, DType::i32});
  context.require_min_rank(0, 1);
  const Dims& logits = context.shape(0);
  const Dims rows(logits.begin(), logits.end() - 1);
  context.unify(rows, context.shape(1), "rows of logits and labels");
  return {{context.dtype(0), rows}};
}

void cross_entropy_reference(KernelContext& context) {
  const Tensor& logits = context.in(0);
  const std::vector<double> values = load<double>(logits);
  const std::vector<std::int64_t> labels = load<std::int64_t>(context.in(1));
  const std::int64_t classes = logits.shape().back();
  std::vector<double> losses;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    require<DataError>(labels[row] >= 0 && labels[row] < classes,
                       "{}: label {} is outside the {} classes", context.where, labels[row],
                       classes);
    const double* line = values.data() + static_cast<std::int64_t>(row) * classes;
    double largest = line[0], total = 0;
    for (std::int64_t i = 0; i < classes; ++i) {
      largest = std::max(largest, line[i]);
    }
    for (std::int64_t i = 0; i < classes; ++i) {
      total += std::exp(line[i] - largest);
    }
    losses.push_back(largest + std::log(total) - line[labels[row]]);
  }
  store(losses, context.out());
}

const OpDef& cross_entropy_def() {
  static const OpDef def{
      .name = "cross_entropy",
      .doc = "Loss of each row of logits against its integer label, from logits, numerically safe.",
      .infer = infer_cross_entropy,
      .vjp =
          [](VjpContext& context) {
            const Var logits = context.input(0), labels = context.input(1);
            const Var target = cast(marks_of(logits, labels), logits.dtype());
            return Vars{(softmax(logits) - target) * expand_dims(context.grad(), -1), Var()};
          },
      .vmap = vmap_unchanged(),
      .decompose =
          [](Op op) {
            const Var logits = op.input(0), labels = op.input(1);
            const Var total = logsumexp(logits, {-1});
            if (const Dim classes = logits.dim(-1);
                !classes.is_constant() || classes.constant() > kFewClasses) {
              return Vars{total - squeeze(take_along(logits, expand_dims(labels, -1), -1), -1)};
            }
            // The gradient's marks serve the loss, too, which is one walk over the rows then. What
            // is infinite must not be multiplied by 0.
            return Vars{total - sum(select(marks_of(logits, labels), logits, 0), {-1})};
          },
      .reference = cross_entropy_reference,
      .samples =
          [] {
            const auto build = [](Graph&, std::span<const Var> in) {
              return Vars{cross_entropy(in[0], in[1])};
            };
            return std::vector<Sample>{
                {"rows", {{{3, 5}}, {{3}, 0, 0, i64, {4, 0, 2}}}, build},
                {"i32 labels", {{{2, 3}, 100, 200}, {{2}, 0, 0, i32, {1, 2}}}, build},
                {"one", {{{7}}, {{}, 0, 0, i64, {3}}}, build},
                {"empty", {{{0, 3}}, {{0}, 0, 0, i64, {}}}, build}};
          },
  };
  return def;
}

std::vector<VarType> infer_layer_norm(InferContext& context) {
  context.require_inputs(3);
  context.require_dtype(0, kFloats);
  const DType dtype = context.require_same_dtype();
  const std::int64_t axes = context.attrs().get<std::int64_t>("axes");
  require<ShapeError>(axes >= 1 && axes <= context.rank(0),
                      "layer_norm: cannot normalise {} axes of a value of shape {}", axes,
                      to_string(context.shape(0)));
  const Dims& x = context.shape(0);
  const Dims normalised(x.end() - axes, x.end());
  context.unify(normalised, context.shape(1), "normalised axes and scale");
  context.unify(normalised, context.shape(2), "normalised axes and bias");
  return {{dtype, x}};
}

Ints last_axes(const Attrs& attrs) {
  Ints axes;
  for (std::int64_t axis = -attrs.get<std::int64_t>("axes"); axis < 0; ++axis) {
    axes.push_back(axis);
  }
  return axes;
}

Vars decompose_layer_norm(Op op) {
  const Var x = op.input(0);
  const Ints axes = last_axes(op.attrs());
  const Var centred = x - mean(x, axes, true);
  const Var scale = rsqrt(mean(square(centred), axes, true) + op.attrs().get<double>("epsilon"));
  return {centred * scale * op.input(1) + op.input(2)};
}

void layer_norm_reference(KernelContext& context) {
  const double epsilon = context.attr<double>("epsilon");
  std::vector<double> x = load<double>(context.in(0));
  const std::vector<double> scale = load<double>(context.in(1)), bias = load<double>(context.in(2));
  const auto count = static_cast<std::int64_t>(scale.size());
  for (std::size_t row = 0; row + scale.size() <= x.size() && count > 0; row += scale.size()) {
    double* line = x.data() + row;
    const Moments m = moments(count, [line](std::int64_t i) { return line[i]; });
    for (std::size_t i = 0; i < scale.size(); ++i) {
      line[i] = (line[i] - m.mean) / std::sqrt(m.variance + epsilon) * scale[i] + bias[i];
    }
  }
  store(x, context.out());
}

const OpDef& layer_norm_def() {
  static const OpDef def{
      .name = "layer_norm",
      .doc = "Normalises over the last axes, then scales and shifts.",
      .attributes = {{"axes", "how many trailing axes", {std::int64_t{1}}},
                     {"epsilon", "added to the variance", {1e-5}}},
      .infer = infer_layer_norm,
      .vmap = vmap_unchanged({1, 2}),
      .decompose = decompose_layer_norm,
      .reference = layer_norm_reference,
      .samples =
          [] {
            const auto with = [](std::int64_t axes) {
              return [axes](Graph&, std::span<const Var> in) {
                return Vars{layer_norm(in[0], in[1], in[2], axes)};
              };
            };
            return std::vector<Sample>{{"rows", {{{3, 5}}, {{5}}, {{5}}}, with(1)},
                                       {"two axes", {{{2, 3, 2}}, {{3, 2}}, {{3, 2}}}, with(2)},
                                       {"one element", {{{3, 1}}, {{1}}, {{1}}}, with(1)},
                                       {"empty", {{{0, 3}}, {{3}}, {{3}}}, with(1)}};
          },
  };
  return def;
}

}  // namespace

Var softmax(const Operand& x, std::int64_t axis) {
  return apply(softmax_def(), {x}, {{"axis", axis}});
}
Var log_softmax(const Operand& x, std::int64_t axis) {
  return apply(log_softmax_def(), {x}, {{"axis", axis}});
}
Var cross_entropy(const Operand& logits, const Operand& labels) {
  return apply(cross_entropy_def(), {logits, labels});
}
Var layer_norm(const Operand& x, const Operand& scale, const Operand& bias, std::int64_t axes,
               double epsilon) {
  return apply(layer_norm_def(), {x, scale, bias}, {{"axes", axes}, {"epsilon", epsilon}});
}
std::vector<const OpDef*> normalization_family() {
  return {&softmax_def(),    &log_softmax_def(), &cross_entropy_def(),
          &layer_norm_def(), &batch_norm_def(),  &batch_norm_inference_def()};
}

}  // namespace antichain
