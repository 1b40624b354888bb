#include "antichain/ops/reference/convolution_samples.h"

#include "antichain/ops/convolution/convolution.h"
#include "antichain/ops/reference/sliding_windows.h"

namespace antichain {

namespace {

// A use of convolution: the shapes of all that takes part, so that each op can pick its inputs.
struct ConvCase {
  std::string label;
  Shape x, weight, output;
  ConvOptions options = {};
};

Shape channels_last(const Shape& shape) {
  return AxisOrder{true}.shape(shape[0], shape[1], spatial_axes(shape));
}

std::vector<ConvCase> conv_cases() {
  std::vector<ConvCase> cases = {
      {"one axis", {2, 3, 5}, {2, 3, 3}, {2, 2, 3}},
      {"two axes", {1, 2, 4, 5}, {2, 2, 3, 2}, {1, 2, 2, 4}},
      {"three axes", {1, 1, 3, 2, 2}, {2, 1, 2, 2, 1}, {1, 2, 2, 1, 2}},
      {"stride leaves a rest", {1, 1, 6}, {1, 1, 3}, {1, 1, 2}, {.stride = {2}}},
      {"stride above window", {1, 1, 7}, {1, 1, 2}, {1, 1, 2}, {.stride = {5}}},
      {"padding", {1, 2, 3}, {1, 2, 3}, {1, 1, 5}, {.padding = {2}}},
      {"padding beyond window", {1, 1, 2}, {1, 1, 1}, {1, 1, 6}, {.padding = {2}}},
      {"dilation", {1, 2, 7}, {2, 2, 3}, {1, 2, 3}, {.dilation = {2}}},
      {"all options", {1, 4, 5, 3}, {2, 2, 2, 3}, {1, 2, 3, 3}, {{2, 1}, {1, 2}, {1, 2}, 2}},
      {"groups that grow", {2, 2, 3}, {6, 1, 2}, {2, 6, 2}, {.groups = 2}},
      {"depthwise", {2, 3, 4}, {3, 1, 2}, {2, 3, 3}, {.groups = 3}},
      {"one element", {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
      {"empty batch", {0, 2, 3}, {2, 2, 2}, {0, 2, 2}},
      {"no input channels", {1, 0, 3}, {2, 0, 2}, {1, 2, 2}},
  };
  // Each of them again, channels last.
  for (std::size_t i = 0, count = cases.size(); i < count; ++i) {
    ConvCase last = cases[i];
    last.label += ", channels last";
    last.x = channels_last(last.x);
    last.output = channels_last(last.output);
    last.options.channels_last = true;
    cases.push_back(std::move(last));
  }
  return cases;
}

Dims spatial_dims(const Shape& x, const ConvOptions& options) {
  return to_dims(AxisOrder{options.channels_last}.spatial(x));
}

}  // namespace

std::vector<Sample> conv_samples() {
  std::vector<Sample> samples;
  for (const ConvCase& use : conv_cases()) {
    samples.push_back({use.label, {{use.x}, {use.weight}}, [use](Graph&, std::span<const Var> in) {
                         return std::vector<Var>{conv(in[0], in[1], use.options)};
                       }});
  }
  return samples;
}

std::vector<Sample> conv_input_gradient_samples() {
  std::vector<Sample> samples;
  for (const ConvCase& use : conv_cases()) {
    const Dims input = spatial_dims(use.x, use.options);
    samples.push_back(
        {use.label, {{use.output}, {use.weight}}, [use, input](Graph&, std::span<const Var> in) {
           return std::vector<Var>{conv_input_gradient(in[0], in[1], input, use.options)};
         }});
  }
  return samples;
}

std::vector<Sample> conv_weight_gradient_samples() {
  std::vector<Sample> samples;
  for (const ConvCase& use : conv_cases()) {
    const Dims window = to_dims(spatial_axes(use.weight));
    samples.push_back(
        {use.label, {{use.output}, {use.x}}, [use, window](Graph&, std::span<const Var> in) {
           return std::vector<Var>{conv_weight_gradient(in[0], in[1], window, use.options)};
         }});
  }
  return samples;
}

std::vector<Sample> conv_transpose_samples() {
  const auto with = [](const ConvOptions& options, const Ints& output_padding) {
    return [options, output_padding](Graph&, std::span<const Var> in) {
      return std::vector<Var>{conv_transpose(in[0], in[1], options, output_padding)};
    };
  };
  return {
      {"one axis", {{{2, 3, 5}}, {{3, 2, 3}}}, with({}, {})},
      {"two axes", {{{1, 2, 2, 3}}, {{2, 3, 3, 2}}}, with({}, {})},
      {"channels last", {{{1, 2, 3, 2}}, {{2, 3, 3, 2}}}, with({.channels_last = true}, {})},
      {"all options, channels last",
       {{{1, 3, 2, 4}}, {{4, 1, 2, 3}}},
       with({{2, 1}, {1, 1}, {1, 2}, 2, true}, {1, 0})},
      {"output padding", {{{1, 1, 3}}, {{1, 1, 2}}}, with({.stride = {3}}, {2})},
      {"all options", {{{1, 4, 3, 2}}, {{4, 1, 2, 3}}}, with({{2, 1}, {1, 1}, {1, 2}, 2}, {1, 0})},
      {"one element", {{{1, 1, 1}}, {{1, 1, 1}}}, with({}, {})},
      {"empty batch", {{{0, 2, 3}}, {{2, 1, 2}}}, with({}, {})},
      {"empty output", {{{1, 1, 1}}, {{1, 1, 2}}}, with({.padding = {1}}, {})},
  };
}

}  // namespace antichain
