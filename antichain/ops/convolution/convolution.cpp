#include "antichain/ops/convolution/convolution.h"

#include "antichain/graph/derivative_context.h"
#include "antichain/graph/infer_context.h"
#include "antichain/ops/convolution/channel_layout.h"
#include "antichain/ops/convolution/convolution_vmap.h"
#include "antichain/ops/reference/convolution_reference.h"
#include "antichain/ops/reference/convolution_samples.h"
#include "antichain/ops/reference/sliding_windows.h"
#include "antichain/ops/shape/require_size.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

// The shapes that all four ops speak of, where channels are not last:
//   x[n, groups * i, input...]   weight[o, i, window...]   output[n, o, windows...]

std::vector<AttrSpec> conv_attributes(std::vector<AttrSpec> own = {}) {
  own.insert(own.end(),
             {{"stride", "distance between windows, per spatial axis"},
              {"padding", "zeros on both sides, per spatial axis"},
              {"dilation", "distance between elements of a window, per spatial axis"},
              {"groups", "parts of the channels that are convolved apart", {std::int64_t{1}}},
              {"channels_last", "x and output are [n, spatial..., c]", {false}}});
  return own;
}

Attrs conv_attrs(const ConvOptions& options, std::size_t spatial_rank) {
  const auto filled = [spatial_rank](const Ints& given, std::int64_t fallback) {
    return given.empty() ? Ints(spatial_rank, fallback) : given;
  };
  return {{"stride", filled(options.stride, 1)},
          {"padding", filled(options.padding, 0)},
          {"dilation", filled(options.dilation, 1)},
          {"groups", options.groups},
          {"channels_last", options.channels_last}};
}

ConvOptions to_options(const Attrs& attrs) {
  const auto [stride, padding, dilation] = WindowSteps::of(attrs);
  return {stride, padding, dilation, attrs.get<std::int64_t>("groups"),
          attrs.get<bool>("channels_last")};
}

// What is wrong with an operand that has no such axes is for inference to say.
std::size_t spatial_rank_of(const Operand& weight) {
  const bool has_shape = weight.is_var() && weight.var().valid() && weight.var().rank() > 2;
  return has_shape ? weight.var().shape().size() - 2 : 0;
}

std::int64_t require_groups(const InferContext& context) {
  const std::int64_t groups = context.attrs().get<std::int64_t>("groups");
  require<ShapeError>(groups >= 1, "{}: groups must be 1 or more, got {}", context.op_name(),
                      groups);
  return groups;
}

Dim require_group_size(InferContext& context, Dim channels, std::string_view what) {
  const std::int64_t groups = require_groups(context);
  require<ShapeError>(!never_equal(channels % groups, 0), "{}: {} {} do not split into {} groups",
                      context.op_name(), channels.str(), what, groups);
  context.unify(channels % groups, 0, "channels that groups leave over and none");
  return channels / groups;
}

DType require_operands(const InferContext& context, std::size_t spatial_rank) {
  require<ShapeError>(spatial_rank >= 1, "{}: there must be 1 spatial axis or more",
                      context.op_name());
  context.require_dtype(0, kFloats);
  const DType dtype = context.require_same_dtype();
  context.require_rank(0, static_cast<int>(spatial_rank) + 2);
  context.require_rank(1, static_cast<int>(spatial_rank) + 2);
  return dtype;
}

std::vector<VarType> infer_conv(InferContext& context) {
  context.require_inputs(2);
  context.require_min_rank(1, 3);
  const DType dtype = require_operands(context, context.shape(1).size() - 2);
  const AxisOrder order = AxisOrder::of(context.attrs());
  const Dims &x = context.shape(0), &weight = context.shape(1);
  const Dim channels = order.channels(x);
  const std::int64_t groups = require_groups(context);
  require<ShapeError>(!never_equal(channels, weight[1] * groups),
                      "{}: x has {} channels, but a weight {} with groups = {} takes {}",
                      context.op_name(), channels.str(), to_string(weight), groups,
                      (weight[1] * groups).str());
  context.unify(channels, weight[1] * groups, "channels of x and of the weight");
  require_group_size(context, weight[0], "output channels");
  const Dims windows = count_windows(context, order.spatial(x), spatial_axes(weight),
                                     WindowSteps::of(context.attrs()));
  return {{dtype, order.shape(x[0], weight[0], windows)}};
}

std::vector<VarType> infer_conv_input_gradient(InferContext& context) {
  context.require_inputs(2);
  const Dims& input = context.attrs().get<Dims>("input_spatial");
  const DType dtype = require_operands(context, input.size());
  for (Dim size : input) {
    require_size(context, size, "input_spatial");
  }
  const AxisOrder order = AxisOrder::of(context.attrs());
  const Dims &output = context.shape(0), &weight = context.shape(1);
  context.unify(order.channels(output), weight[0],
                "channels of the output gradient and of the weight");
  require_group_size(context, weight[0], "output channels");
  const Dims windows =
      count_windows(context, input, spatial_axes(weight), WindowSteps::of(context.attrs()));
  context.unify(order.spatial(output), windows,
                "spatial sizes of the output gradient and of the convolution");
  return {{dtype, order.shape(output[0], weight[1] * require_groups(context), input)}};
}

std::vector<VarType> infer_conv_weight_gradient(InferContext& context) {
  context.require_inputs(2);
  const Dims& window = context.attrs().get<Dims>("weight_spatial");
  const DType dtype = require_operands(context, window.size());
  const AxisOrder order = AxisOrder::of(context.attrs());
  const Dims &output = context.shape(0), &x = context.shape(1);
  context.unify(output[0], x[0], "batch sizes of the output gradient and of x");
  const Dim outputs = order.channels(output);
  require_group_size(context, outputs, "output channels");
  const Dim group_inputs = require_group_size(context, order.channels(x), "input channels");
  const Dims windows =
      count_windows(context, order.spatial(x), window, WindowSteps::of(context.attrs()));
  context.unify(order.spatial(output), windows,
                "spatial sizes of the output gradient and of the convolution");
  return {{dtype, AxisOrder{}.shape(outputs, group_inputs, window)}};
}

// The spatial sizes that a transposed convolution makes: the inverse of count_windows.
Dims spread_sizes(const Dims& input, const Dims& window, const WindowSteps& steps,
                  const Ints& output_padding) {
  Dims sizes;
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    sizes.push_back((input[axis] - 1) * steps.stride[axis] - 2 * steps.padding[axis] +
                    (window[axis] - 1) * steps.dilation[axis] + 1 + output_padding[axis]);
  }
  return sizes;
}

std::vector<VarType> infer_conv_transpose(InferContext& context) {
  context.require_inputs(2);
  context.require_min_rank(1, 3);
  const std::size_t rank = context.shape(1).size() - 2;
  const DType dtype = require_operands(context, rank);
  const Dims &x = context.shape(0), &weight = context.shape(1);
  const WindowSteps steps = WindowSteps::of(context.attrs());
  require_steps(context, steps, rank);
  const Ints& output_padding = context.attrs().get<Ints>("output_padding");
  require<ShapeError>(output_padding.size() == rank,
                      "{}: output_padding {} must have one number per spatial axis, {} in all",
                      context.op_name(), to_string(output_padding), rank);
  const AxisOrder order = AxisOrder::of(context.attrs());
  context.unify(order.channels(x), weight[0], "channels of x and of the weight");
  require_group_size(context, weight[0], "input channels");
  const Dims input = order.spatial(x);
  const Dims sizes = spread_sizes(input, spatial_axes(weight), steps, output_padding);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    require<ShapeError>(output_padding[axis] >= 0 && output_padding[axis] < steps.stride[axis],
                        "{}: output_padding {} must be 0 or more and below the stride {}",
                        context.op_name(), to_string(output_padding), to_string(steps.stride));
    require<ShapeError>(input[axis].range().max >= 1, "{}: spatial axis {} of x, {}, is empty",
                        context.op_name(), axis, to_string(x));
    require_size(context, sizes[axis], "an output size");
  }
  count_windows(context, sizes, spatial_axes(weight), steps);  // for its checks
  return {{dtype, order.shape(x[0], weight[1] * require_groups(context), sizes)}};
}

// Of x or the output.
Dims spatial_sizes(Var value, const ConvOptions& options) {
  return AxisOrder{options.channels_last}.spatial(value.shape());
}

// Gradients are reshaped to their inputs: sizes that only the run finds equal may be written
// differently.
std::vector<Var> conv_vjp(VjpContext& context) {
  const ConvOptions options = to_options(context.attrs());
  const Var x = context.input(0), weight = context.input(1), grad = context.grad();
  Var grad_x, grad_weight;
  if (context.needs(0)) {
    grad_x = conv_input_gradient(grad, weight, spatial_sizes(x, options), options);
    grad_x = reshape(grad_x, x.shape());
  }
  if (context.needs(1)) {
    grad_weight = conv_weight_gradient(grad, x, spatial_axes(weight.shape()), options);
    grad_weight = reshape(grad_weight, weight.shape());
  }
  return {grad_x, grad_weight};
}

std::vector<Var> conv_input_gradient_vjp(VjpContext& context) {
  const ConvOptions options = to_options(context.attrs());
  const Var output = context.input(0), weight = context.input(1), grad = context.grad();
  Var grad_output, grad_weight;
  if (context.needs(0)) {
    grad_output = reshape(conv(grad, weight, options), output.shape());
  }
  if (context.needs(1)) {
    grad_weight = conv_weight_gradient(output, grad, spatial_axes(weight.shape()), options);
    grad_weight = reshape(grad_weight, weight.shape());
  }
  return {grad_output, grad_weight};
}

std::vector<Var> conv_weight_gradient_vjp(VjpContext& context) {
  const ConvOptions options = to_options(context.attrs());
  const Var output = context.input(0), x = context.input(1), grad = context.grad();
  Var grad_output, grad_x;
  if (context.needs(0)) {
    grad_output = reshape(conv(x, grad, options), output.shape());
  }
  if (context.needs(1)) {
    grad_x = conv_input_gradient(output, grad, spatial_sizes(x, options), options);
    grad_x = reshape(grad_x, x.shape());
  }
  return {grad_output, grad_x};
}

std::vector<Var> decompose_conv_transpose(Op op) {
  const ConvOptions options = to_options(op.attrs());
  return {
      conv_input_gradient(op.input(0), op.input(1), spatial_sizes(op.output(), options), options)};
}

}  // namespace

const OpDef& conv_def() {
  static const OpDef def{
      .name = "conv",
      .doc = "Convolution of x[n, c, spatial...] with weight[o, c / groups, spatial...].",
      .attributes = conv_attributes(),
      .infer = infer_conv,
      .vjp = conv_vjp,
      .vmap =
          [](VmapContext& context) {
            return vmap_convolution(context, ConvTensor::x, ConvTensor::weight, ConvTensor::output);
          },
      .vmap_serially = kGroupsAreANumber,
      .reference = conv_reference,
      .channels_last = by_attribute({0}, {0}),
      .samples = conv_samples,
  };
  return def;
}

const OpDef& conv_input_gradient_def() {
  static const OpDef def{
      .name = "conv_input_gradient",
      .doc = "The gradient of conv with respect to x, from the output's gradient and the weight.",
      .attributes = conv_attributes({{"input_spatial", "the spatial sizes of x"}}),
      .infer = infer_conv_input_gradient,
      .vjp = conv_input_gradient_vjp,
      .vmap =
          [](VmapContext& context) {
            return vmap_convolution(context, ConvTensor::output, ConvTensor::weight, ConvTensor::x);
          },
      .vmap_serially = kGroupsAreANumber,
      .reference = conv_input_gradient_reference,
      .channels_last = by_attribute({0}, {0}),
      .samples = conv_input_gradient_samples,
  };
  return def;
}

const OpDef& conv_weight_gradient_def() {
  static const OpDef def{
      .name = "conv_weight_gradient",
      .doc = "The gradient of conv with respect to the weight, from the output's gradient and x.",
      .attributes = conv_attributes({{"weight_spatial", "the spatial sizes of the weight"}}),
      .infer = infer_conv_weight_gradient,
      .vjp = conv_weight_gradient_vjp,
      .vmap =
          [](VmapContext& context) {
            return vmap_convolution(context, ConvTensor::output, ConvTensor::x, ConvTensor::weight);
          },
      .vmap_serially = kGroupsAreANumber,
      .reference = conv_weight_gradient_reference,
      .channels_last = by_attribute({0, 1}, {}),
      .samples = conv_weight_gradient_samples,
  };
  return def;
}

const OpDef& conv_transpose_def() {
  static const OpDef def{
      .name = "conv_transpose",
      .doc = "Spreads x[n, c, spatial...] by weight[c, o / groups, spatial...].",
      .attributes =
          conv_attributes({{"output_padding", "rows added at the end, per spatial axis"}}),
      .infer = infer_conv_transpose,
      .vmap =
          [](VmapContext& context) {
            return vmap_convolution(context, ConvTensor::output, ConvTensor::weight, ConvTensor::x);
          },
      .vmap_serially = kGroupsAreANumber,
      .decompose = decompose_conv_transpose,
      .reference = conv_input_gradient_reference,
      .channels_last = by_attribute({0}, {0}),
      .samples = conv_transpose_samples,
  };
  return def;
}

Var conv(const Operand& x, const Operand& weight, const ConvOptions& options) {
  return apply(conv_def(), {x, weight}, conv_attrs(options, spatial_rank_of(weight)));
}

Var conv_transpose(const Operand& x, const Operand& weight, const ConvOptions& options,
                   const Ints& output_padding) {
  const std::size_t rank = spatial_rank_of(weight);
  Attrs attrs = conv_attrs(options, rank);
  attrs.set("output_padding", output_padding.empty() ? Ints(rank, 0) : output_padding);
  return apply(conv_transpose_def(), {x, weight}, attrs);
}

Var conv_input_gradient(const Operand& output_grad, const Operand& weight,
                        const Dims& input_spatial, const ConvOptions& options) {
  Attrs attrs = conv_attrs(options, input_spatial.size());
  attrs.set("input_spatial", input_spatial);
  return apply(conv_input_gradient_def(), {output_grad, weight}, attrs);
}

Var conv_weight_gradient(const Operand& output_grad, const Operand& x, const Dims& weight_spatial,
                         const ConvOptions& options) {
  Attrs attrs = conv_attrs(options, weight_spatial.size());
  attrs.set("weight_spatial", weight_spatial);
  return apply(conv_weight_gradient_def(), {output_grad, x}, attrs);
}

std::vector<const OpDef*> convolution_family() {
  return {&conv_def(), &conv_input_gradient_def(), &conv_weight_gradient_def(),
          &conv_transpose_def()};
}

}  // namespace antichain
