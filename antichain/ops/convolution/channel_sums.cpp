#include "antichain/ops/convolution/channel_sums.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/convolution/per_channel.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/reference/compute.h"
#include "antichain/ops/reference/moments.h"
#include "antichain/ops/rows/reduce.h"

namespace antichain {

namespace {

using Vars = std::vector<Var>;

AttrSpec axis_attribute() { return {"axis", "that of the channels", {std::int64_t{1}}}; }

// The outputs have no other axis than the channels, so they stay as they are.
auto sums_with_channels_last(const std::vector<int>& inputs) {
  return [inputs](Op op) -> std::optional<ChannelsLast> {
    const int rank = op.input(0).rank();
    if (rank < kFewestMovedAxes) {
      return std::nullopt;
    }
    ChannelsLast last{inputs, {}, op.attrs()};
    last.attrs.set("axis", moved_axis(op.attrs().get<std::int64_t>("axis"), rank));
    return last;
  };
}

// Where the elements of a channel lie in a packed tensor.
struct ChannelElements {
  ChannelElements(const KernelContext& context, const Tensor& x)
      : split(x.shape(), context.axis("axis", x.rank())), count(split.outer * split.inner) {}

  std::size_t place(std::int64_t channel, std::int64_t i) const {
    return static_cast<std::size_t>((i / split.inner * split.size + channel) * split.inner +
                                    i % split.inner);
  }

  AxisSplit split;
  std::int64_t count;  // of a channel
};

std::vector<VarType> infer_moments(InferContext& context) {
  context.require_inputs(1);
  context.require_dtype(0, kFloats);
  context.require_min_rank(0, 2);
  const DType from = context.dtype(0), to = context.attrs().get<DType>("dtype");
  require<TypeError>(to == from || (size_of(from) == 2 && to == DType::f32),
                     "channel_moments: moments of type {} do not go with x of type {}", name(to),
                     name(from));
  const VarType each{to, {context.shape(0)[channels_of(context, 0)]}};
  return {each, each};
}

Vars moments_vjp(VjpContext& context) {
  const Var x = context.input(0), mean_value = context.output(0);
  const int axis = channel_axis(context.attrs(), x);
  const auto spread = [&](Var value) { return per_channel(value, x, axis); };
  const Var count = channel_count(x, axis, mean_value.dtype());
  const Var centred = as_dtype(x, mean_value.dtype()) - spread(mean_value);
  const Var x_grad =
      spread(context.grad(0) / count) + centred * spread(2 * context.grad(1) / count);
  return {as_dtype(x_grad, x.dtype())};
}

void moments_reference(KernelContext& context) {
  const std::vector<double> x = load<double>(context.in(0));
  const ChannelElements elements(context, context.in(0));
  std::vector<double> means, variances;
  for (std::int64_t channel = 0; channel < elements.split.size; ++channel) {
    const Moments m =
        moments(elements.count, [&](std::int64_t i) { return x[elements.place(channel, i)]; });
    means.push_back(m.mean);
    variances.push_back(m.variance);
  }
  store(means, context.out(0));
  store(variances, context.out(1));
}

std::vector<VarType> infer_gradient_sums(InferContext& context) {
  context.require_inputs(4);
  context.require_dtype(0, kFloats);
  require<TypeError>(context.dtype(0) == context.dtype(1),
                     "channel_gradient_sums: grad and x have different types, {} and {}",
                     name(context.dtype(0)), name(context.dtype(1)));
  context.unify(context.shape(0), context.shape(1), "grad and x");
  const DType dtype = require_channels(context, 1);
  const VarType each{dtype, {context.shape(1)[channels_of(context, 1)]}};
  return {each, each};
}

Vars decompose_gradient_sums(Op op) {
  const DType dtype = op.output().dtype();
  const Var grad = as_dtype(op.input(0), dtype), x = as_dtype(op.input(1), dtype);
  const int axis = channel_axis(op.attrs(), x);
  const Ints axes = all_but_channels(x, axis);
  const auto spread = [&](Var value) { return per_channel(value, x, axis); };
  const Var normalised = (x - spread(op.input(2))) * spread(op.input(3));
  return {sum(grad, axes), sum(grad * normalised, axes)};
}

void gradient_sums_reference(KernelContext& context) {
  const std::vector<double> grad = load<double>(context.in(0)), x = load<double>(context.in(1)),
                            mean = load<double>(context.in(2)), slope = load<double>(context.in(3));
  const ChannelElements elements(context, context.in(1));
  std::vector<double> grads(mean.size()), products(mean.size());
  for (std::size_t c = 0; c < mean.size(); ++c) {
    for (std::int64_t i = 0; i < elements.count; ++i) {
      const std::size_t at = elements.place(static_cast<std::int64_t>(c), i);
      grads[c] += grad[at];
      products[c] += grad[at] * (x[at] - mean[c]) * slope[c];
    }
  }
  store(grads, context.out(0));
  store(products, context.out(1));
}

}  // namespace

const OpDef& channel_moments_def() {
  static const OpDef def{
      .name = "channel_moments",
      .doc = "Mean and variance of every channel, over all other axes.",
      .attributes = {{"dtype", "of the moments"}, axis_attribute()},
      .infer = infer_moments,
      .vjp = moments_vjp,
      .decompose =
          [](Op op) {
            const Var x = as_dtype(op.input(0), op.output().dtype());
            const Ints axes = all_but_channels(x, channel_axis(op.attrs(), x));
            return Vars{mean(x, axes), variance(x, axes)};
          },
      .reference = moments_reference,
      .channels_last = sums_with_channels_last({0}),
      .samples =
          [] {
            const auto with = [](std::int64_t axis) {
              return [axis](Graph&, std::span<const Var> in) {
                const ChannelMoments result = channel_moments(in[0], in[0].dtype(), axis);
                return Vars{result.mean, result.variance};
              };
            };
            const auto widened = [](Graph&, std::span<const Var> in) {
              const DType dtype = size_of(in[0].dtype()) == 2 ? DType::f32 : in[0].dtype();
              const ChannelMoments result = channel_moments(in[0], dtype, -1);
              return Vars{result.mean, result.variance};
            };
            return std::vector<Sample>{{"images", {{{2, 3, 2, 5}}}, with(1)},
                                       {"channels last", {{{3, 2, 7, 8}}}, with(-1)},
                                       {"between", {{{2, 3, 5, 2}}}, with(2)},
                                       {"rows", {{{5, 3}}}, with(1)},
                                       {"widened", {{{7, 4}}}, widened},
                                       {"one channel", {{{7, 1, 3}}}, with(1)},
                                       {"no channel", {{{7, 0, 3}}}, with(1)}};
          },
  };
  return def;
}

const OpDef& channel_gradient_sums_def() {
  static const OpDef def{
      .name = "channel_gradient_sums",
      .doc = "sum(grad) and sum(grad * (x - mean) * slope) of every channel, over all other axes.",
      .attributes = {axis_attribute()},
      .infer = infer_gradient_sums,
      .decompose = decompose_gradient_sums,
      .reference = gradient_sums_reference,
      .channels_last = sums_with_channels_last({0, 1}),
      .samples =
          [] {
            const auto with = [](std::int64_t axis) {
              return [axis](Graph&, std::span<const Var> in) {
                const ChannelGradientSums sums =
                    channel_gradient_sums(in[0], in[1], in[2], in[3], axis);
                return Vars{sums.grad, sums.product};
              };
            };
            return std::vector<Sample>{
                {"images", {{{2, 3, 3, 7}}, {{2, 3, 3, 7}}, {{3}}, {{3}}}, with(1)},
                {"channels last", {{{2, 7, 3, 8}}, {{2, 7, 3, 8}}, {{8}}, {{8}}}, with(-1)},
                {"between", {{{2, 3, 5, 2}}, {{2, 3, 5, 2}}, {{5}}, {{5}}}, with(2)},
                {"rows", {{{5, 3}}, {{5, 3}}, {{3}}, {{3}}}, with(1)},
                {"no channel", {{{5, 0, 2}}, {{5, 0, 2}}, {{0}}, {{0}}}, with(1)},
                {"empty", {{{0, 3, 2}}, {{0, 3, 2}}, {{3}}, {{3}}}, with(1)}};
          },
  };
  return def;
}

ChannelMoments channel_moments(const Operand& x, DType dtype, std::int64_t axis) {
  const Vars outputs = apply_all(channel_moments_def(), {x}, {{"dtype", dtype}, {"axis", axis}});
  return {outputs[0], outputs[1]};
}

ChannelGradientSums channel_gradient_sums(const Operand& grad, const Operand& x,
                                          const Operand& mean, const Operand& slope,
                                          std::int64_t axis) {
  const Vars outputs =
      apply_all(channel_gradient_sums_def(), {grad, x, mean, slope}, {{"axis", axis}});
  return {outputs[0], outputs[1]};
}

std::vector<const OpDef*> channel_sum_family() {
  return {&channel_moments_def(), &channel_gradient_sums_def()};
}

}  // namespace antichain
