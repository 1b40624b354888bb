// Batch norm, in training and at inference.
#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/convolution/channel_sums.h"
#include "antichain/ops/convolution/per_channel.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/reference/moments.h"
#include "antichain/ops/rows/normalization.h"
#include "antichain/ops/rows/normalization_gradients.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

Vars decompose_batch_norm(Op op) {
  const int axis = channel_axis(op.attrs(), op.input(0));
  const ChannelMoments moments = channel_moments(op.input(0), op.input(1).dtype(), axis);
  return {batch_norm_inference(op.input(0), op.input(1), op.input(2), moments.mean,
                               moments.variance, op.attrs().get<double>("epsilon"), axis),
          moments.mean, moments.variance};
}

Vars batch_norm_vjp(VjpContext& context) {
  const Var x = context.input(0), scale = context.input(1);
  const Var mean_value = context.output(1), variance_value = context.output(2);
  const int axis = channel_axis(context.attrs(), x);
  const BatchNormGradient grads =
      batch_norm_gradient(context.grad(0), x, scale, mean_value, variance_value,
                          context.attrs().get<double>("epsilon"), axis);
  Var x_grad = grads.x;
  const Var count = channel_count(x, axis, scale.dtype());
  const auto add = [&](Var grad) { x_grad = x_grad + as_dtype(grad, x.dtype()); };
  if (context.has_grad(1)) {
    add(per_channel(context.grad(1) / count, x, axis));
  }
  if (context.has_grad(2)) {
    const Var centred = as_dtype(x, scale.dtype()) - per_channel(mean_value, x, axis);
    add(centred * per_channel(2 * context.grad(2) / count, x, axis));
  }
  return {x_grad, grads.scale, grads.bias};
}

void batch_norm_reference(KernelContext& context) {
  const Tensor& x = context.in(0);
  std::vector<double> values = load<double>(x);
  const std::vector<double> scale = load<double>(context.in(1)), bias = load<double>(context.in(2));
  const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
  const std::int64_t count = split.outer * split.inner;
  std::vector<double> means, variances;
  for (std::int64_t channel = 0; channel < split.size; ++channel) {
    const auto at = [&](std::int64_t i) -> double& {
      return values[static_cast<std::size_t>(
          (i / split.inner * split.size + channel) * split.inner + i % split.inner)];
    };
    const Moments m = moments(count, at);
    const auto c = static_cast<std::size_t>(channel);
    for (std::int64_t i = 0; i < count; ++i) {
      at(i) =
          (at(i) - m.mean) / std::sqrt(m.variance + context.attr<double>("epsilon")) * scale[c] +
          bias[c];
    }
    means.push_back(m.mean);
    variances.push_back(m.variance);
  }
  store(values, context.out(0));
  store(means, context.out(1));
  store(variances, context.out(2));
}

}  // namespace

const OpDef& batch_norm_def() {
  static const OpDef def{
      .name = "batch_norm",
      .doc = "Normalises every channel by the statistics of the batch; also returns them.",
      .attributes = norm_attributes(),
      .infer =
          [](InferContext& context) {
            context.require_inputs(3);
            const DType dtype = require_channels(context, 0);
            const Dims channels = {context.shape(0)[channels_of(context, 0)]};
            return std::vector<VarType>{
                {context.dtype(0), context.shape(0)}, {dtype, channels}, {dtype, channels}};
          },
      .vjp = batch_norm_vjp,
      .decompose = decompose_batch_norm,
      .reference = batch_norm_reference,
      .channels_last = by_axis({0}, {0}),
      .samples =
          [] {
            const auto with = [](std::int64_t axis) {
              return [axis](Graph&, std::span<const Var> in) {
                const BatchNorm result = batch_norm(in[0], in[1], in[2], 1e-3, axis);
                return Vars{result.output, result.mean, result.variance};
              };
            };
            return std::vector<Sample>{{"images", {{{2, 3, 2, 2}}, {{3}}, {{3}}}, with(1)},
                                       {"channels last", {{{2, 3, 2, 5}}, {{5}}, {{5}}}, with(-1)},
                                       {"between", {{{2, 3, 5, 2}}, {{5}}, {{5}}}, with(2)},
                                       {"rows", {{{5, 2}}, {{2}}, {{2}}}, with(1)}};
          },
  };
  return def;
}

const OpDef& batch_norm_inference_def() {
  static const OpDef def{
      .name = "batch_norm_inference",
      .doc = "Normalises every channel by given statistics.",
      .attributes = norm_attributes(),
      .infer =
          [](InferContext& context) {
            context.require_inputs(5);
            require_channels(context, 0);
            return std::vector<VarType>{{context.dtype(0), context.shape(0)}};
          },
      .decompose =
          [](Op op) {
            const Var x = as_dtype(op.input(0), op.input(1).dtype());
            const Var scale = op.input(1) * rsqrt(op.input(4) + op.attrs().get<double>("epsilon"));
            const int axis = channel_axis(op.attrs(), x);
            const Var y = (x - per_channel(op.input(3), x, axis)) * per_channel(scale, x, axis) +
                          per_channel(op.input(2), x, axis);
            return Vars{as_dtype(y, op.input(0).dtype())};
          },
      .reference =
          [](KernelContext& context) {
            const AxisSplit split(context.in(0).shape(),
                                  context.axis("axis", context.in(0).rank()));
            std::vector<double> x = load<double>(context.in(0));
            const auto scale = load<double>(context.in(1)), bias = load<double>(context.in(2)),
                       mean = load<double>(context.in(3)), variance = load<double>(context.in(4));
            for (std::size_t i = 0; i < x.size(); ++i) {
              const auto c = i / static_cast<std::size_t>(split.inner) % scale.size();
              x[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + context.attr<double>("epsilon")) *
                         scale[c] +
                     bias[c];
            }
            store(x, context.out());
          },
      .channels_last = by_axis({0}, {0}),
      .samples =
          [] {
            const auto with = [](std::int64_t axis) {
              return [axis](Graph&, std::span<const Var> in) {
                return Vars{batch_norm_inference(in[0], in[1], in[2], in[3], in[4], 1e-5, axis)};
              };
            };
            return std::vector<Sample>{
                {"images", {{{2, 3, 2, 2}}, {{3}}, {{3}}, {{3}}, {{3}, 0.5, 2}}, with(1)},
                {"channels last", {{{2, 2, 2, 3}}, {{3}}, {{3}}, {{3}}, {{3}, 0.5, 2}}, with(-1)},
                {"empty", {{{0, 2}}, {{2}}, {{2}}, {{2}}, {{2}, 0.5, 2}}, with(1)}};
          },
  };
  return def;
}

BatchNorm batch_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon,
                     std::int64_t axis) {
  const Vars outputs =
      apply_all(batch_norm_def(), {x, scale, bias}, {{"epsilon", epsilon}, {"axis", axis}});
  return {outputs[0], outputs[1], outputs[2]};
}
Var batch_norm_inference(const Operand& x, const Operand& scale, const Operand& bias,
                         const Operand& mean, const Operand& variance, double epsilon,
                         std::int64_t axis) {
  return apply(batch_norm_inference_def(), {x, scale, bias, mean, variance},
               {{"epsilon", epsilon}, {"axis", axis}});
}

}  // namespace antichain
