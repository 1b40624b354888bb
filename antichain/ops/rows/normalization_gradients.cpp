#include "antichain/ops/rows/normalization_gradients.h"

#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/convolution/channel_sums.h"
#include "antichain/ops/convolution/per_channel.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/rows/reduce.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_rules.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

void softmax_gradient_reference(KernelContext& context) {
  std::vector<double> grad = load<double>(context.in(0));
  const std::vector<double> y = load<double>(context.in(1));
  const auto length = static_cast<std::size_t>(context.in(0).shape().back());
  for (std::size_t row = 0; row < grad.size(); row += length) {
    double total = 0;
    for (std::size_t i = row; i < row + length; ++i) {
      total += grad[i] * y[i];
    }
    for (std::size_t i = row; i < row + length; ++i) {
      grad[i] = y[i] * (grad[i] - total);
    }
  }
  store(grad, context.out());
}

std::vector<VarType> infer_batch_norm_gradient(InferContext& context) {
  context.require_inputs(5);
  context.require_dtype(0, kFloats);
  require<TypeError>(context.dtype(0) == context.dtype(1),
                     "batch_norm_gradient: grad and x have different types, {} and {}",
                     name(context.dtype(0)), name(context.dtype(1)));
  context.require_min_rank(1, 2);
  context.unify(context.shape(0), context.shape(1), "grad and x");
  const DType dtype = require_channels(context, 1);
  const Dims channels = {context.shape(1)[channels_of(context, 1)]};
  return {{context.dtype(1), context.shape(1)}, {dtype, channels}, {dtype, channels}};
}

// Numbers per channel are computed as the forward pass does, so that they are there already, and
// whatever else is computed from them is left to the element-wise ops: one kernel less.
Vars decompose_batch_norm_gradient(Op op) {
  const Var scale = op.input(2), mean = op.input(3);
  const int axis = channel_axis(op.attrs(), op.input(1));
  const Var slope = rsqrt(op.input(4) + op.attrs().get<double>("epsilon"));
  const ChannelGradientSums sums =
      channel_gradient_sums(op.input(0), op.input(1), mean, slope, axis);
  const Var grad = as_dtype(op.input(0), scale.dtype()), x = as_dtype(op.input(1), scale.dtype());
  const auto spread = [&](Var value) { return per_channel(value, x, axis); };
  const Var count = channel_count(x, axis, scale.dtype());
  const Var normalised = (x - spread(mean)) * spread(slope);
  const Var average = (spread(sums.grad) + normalised * spread(sums.product)) * (1 / count);
  const Var x_grad = (grad - average) * spread(scale * slope);
  return {as_dtype(x_grad, op.input(1).dtype()), sums.product, sums.grad};
}

void batch_norm_gradient_reference(KernelContext& context) {
  std::vector<double> grad = load<double>(context.in(0));
  const std::vector<double> x = load<double>(context.in(1)), scale = load<double>(context.in(2)),
                            mean = load<double>(context.in(3)),
                            variance = load<double>(context.in(4));
  const AxisSplit split(context.in(1).shape(), context.axis("axis", context.in(1).rank()));
  const std::int64_t count = split.outer * split.inner;
  std::vector<double> scale_grads, bias_grads;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double slope = 1 / std::sqrt(variance[c] + context.attr<double>("epsilon"));
    const auto at = [&](std::int64_t i) {
      return static_cast<std::size_t>(
          (i / split.inner * split.size + static_cast<std::int64_t>(c)) * split.inner +
          i % split.inner);
    };
    const auto normalised = [&](std::int64_t i) { return (x[at(i)] - mean[c]) * slope; };
    double scale_grad = 0, bias_grad = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      scale_grad += grad[at(i)] * normalised(i);
      bias_grad += grad[at(i)];
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const double centred =
          grad[at(i)] - (bias_grad + normalised(i) * scale_grad) / static_cast<double>(count);
      grad[at(i)] = centred * scale[c] * slope;
    }
    scale_grads.push_back(scale_grad);
    bias_grads.push_back(bias_grad);
  }
  store(grad, context.out(0));
  store(scale_grads, context.out(1));
  store(bias_grads, context.out(2));
}

}  // namespace

const OpDef& softmax_gradient_def() {
  static const OpDef def{
      .name = "softmax_gradient",
      .doc = "The gradient of softmax along the last axis: y * (grad - sum(grad * y)).",
      .infer =
          [](InferContext& context) {
            context.require_inputs(2);
            context.require_dtype(0, kFloats);
            context.require_same_dtype();
            context.require_min_rank(0, 1);
            context.unify(context.shape(0), context.shape(1), "grad and y");
            return std::vector<VarType>{{context.dtype(0), context.shape(0)}};
          },
      .vmap = vmap_unchanged(),
      .decompose =
          [](Op op) {
            const Var grad = op.input(0), y = op.input(1);
            return Vars{y * (grad - sum(grad * y, {-1}, true))};
          },
      .reference = softmax_gradient_reference,
      .samples =
          [] {
            const auto build = [](Graph&, std::span<const Var> in) {
              return Vars{softmax_gradient(in[0], in[1])};
            };
            return std::vector<Sample>{{"rows", {{{3, 37}}, {{3, 37}}}, build},
                                       {"one row", {{{5}}, {{5}}}, build},
                                       {"one element", {{{2, 3, 1}}, {{2, 3, 1}}}, build},
                                       {"empty", {{{0, 3}}, {{0, 3}}}, build}};
          },
  };
  return def;
}

const OpDef& batch_norm_gradient_def() {
  static const OpDef def{
      .name = "batch_norm_gradient",
      .doc = "The gradients of batch_norm with respect to x, scale and bias.",
      .attributes = norm_attributes(),
      .infer = infer_batch_norm_gradient,
      .decompose = decompose_batch_norm_gradient,
      .reference = batch_norm_gradient_reference,
      .channels_last = by_axis({0, 1}, {0}),
      .samples =
          [] {
            const auto with = [](std::int64_t axis) {
              return [axis](Graph&, std::span<const Var> in) {
                const BatchNormGradient grads =
                    batch_norm_gradient(in[0], in[1], in[2], in[3], in[4], 1e-3, axis);
                return Vars{grads.x, grads.scale, grads.bias};
              };
            };
            const SampleInput variance{{3}, 0.5, 2};
            return std::vector<Sample>{
                {"images", {{{2, 3, 3, 7}}, {{2, 3, 3, 7}}, {{3}}, {{3}}, variance}, with(1)},
                {"channels last",
                 {{{2, 7, 3, 3}}, {{2, 7, 3, 3}}, {{3}}, {{3}}, variance},
                 with(-1)},
                {"rows", {{{5, 3}}, {{5, 3}}, {{3}}, {{3}}, variance}, with(1)},
                {"empty", {{{0, 3, 2}}, {{0, 3, 2}}, {{3}}, {{3}}, variance}, with(1)}};
          },
  };
  return def;
}

Var softmax_gradient(const Operand& grad, const Operand& y) {
  return apply(softmax_gradient_def(), {grad, y});
}

BatchNormGradient batch_norm_gradient(const Operand& grad, const Operand& x, const Operand& scale,
                                      const Operand& mean, const Operand& variance, double epsilon,
                                      std::int64_t axis) {
  const Vars outputs = apply_all(batch_norm_gradient_def(), {grad, x, scale, mean, variance},
                                 {{"epsilon", epsilon}, {"axis", axis}});
  return {outputs[0], outputs[1], outputs[2]};
}

std::vector<const OpDef*> normalization_gradient_family() {
  return {&softmax_gradient_def(), &batch_norm_gradient_def()};
}

}  // namespace antichain
