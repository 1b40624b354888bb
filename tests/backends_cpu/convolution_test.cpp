// Convolution and its gradients in the CPU backend against the reference.
#include "antichain/ops/convolution/convolution.h"

#include <gtest/gtest.h>

#include <array>

#include "antichain/backends/cpu/convolution/conv_plan.h"
#include "antichain/ops/reference/sliding_windows.h"
#include "tests/backends_cpu/draw.h"
#include "tests/backends_cpu/kernel_trial.h"
#include "tests/conformance/compare.h"

namespace antichain::cpu::convolution_test {

constexpr double kRoundings = 16;  // f32 sums of some hundred products

// The shapes of all that takes part; each op picks its inputs.
struct Case {
  Shape x, weight, output;
  ConvOptions options;

  std::string str() const {
    return "x " + to_string(x) + " weight " + to_string(weight) + " stride " +
           to_string(options.stride) + " padding " + to_string(options.padding) + " dilation " +
           to_string(options.dilation) + " groups " + std::to_string(options.groups) +
           (options.channels_last ? " channels last" : "");
  }
  AxisOrder order() const { return {options.channels_last}; }
};

// The same convolution of tensors whose channels are last.
Case channels_last(const Case& use) {
  Case last = use;
  last.options.channels_last = true;
  for (Shape* shape : {&last.x, &last.output}) {
    *shape = AxisOrder{true}.shape((*shape)[0], (*shape)[1], spatial_axes(*shape));
  }
  return last;
}

Case make_case(const Shape& x, const Shape& weight, const ConvOptions& options) {
  Case made{x, weight, {x[0], weight[0]}, options};
  for (std::size_t axis = 0; axis + 2 < x.size(); ++axis) {
    const std::int64_t span = options.dilation[axis] * (weight[axis + 2] - 1) + 1;
    made.output.push_back((x[axis + 2] + 2 * options.padding[axis] - span) / options.stride[axis] +
                          1);
  }
  return made;
}

Case draw_case(Draw& draw) {
  constexpr std::array<std::int64_t, 8> kChannels = {1, 1, 2, 3, 5, 8, 16, 17};
  constexpr std::array<std::int64_t, 8> kBatches = {0, 1, 1, 2, 3, 5, 7, 8};
  const std::int64_t axes = draw.between(1, 3), groups = draw.coin() ? 1 : draw.between(2, 5);
  const bool depthwise = groups > 1 && draw.coin();
  const std::int64_t in = depthwise ? 1 : draw.one_of(kChannels);
  const std::int64_t out = depthwise ? draw.between(1, 2) : draw.one_of(kChannels);
  Shape x = {draw.one_of(kBatches), groups * in}, weight = {groups * out, in};
  ConvOptions options{.groups = groups};
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    const std::int64_t window = draw.between(1, axes == 3 ? 3 : 5);
    const std::int64_t dilation = draw.coin() ? 1 : draw.between(1, 3);
    const std::int64_t padding = draw.between(0, 3), span = dilation * (window - 1) + 1;
    options.stride.push_back(draw.coin() ? 1 : draw.between(1, 4));
    options.dilation.push_back(dilation);
    options.padding.push_back(padding);
    weight.push_back(window);
    x.push_back(std::max<std::int64_t>(span - 2 * padding, 0) + draw.between(0, axes == 1   ? 30
                                                                                : axes == 2 ? 9
                                                                                            : 4));
  }
  return make_case(x, weight, options);
}

ConvSizes sizes_of(const Case& use) {
  const ConvOptions& options = use.options;
  return ConvSizes::packed(use.x[0], options.groups, use.weight[1], use.weight[0] / options.groups,
                           {use.order().spatial(use.x),
                            spatial_axes(use.weight),
                            use.order().spatial(use.output),
                            {options.stride, options.padding, options.dilation}},
                           use.order());
}

KernelTrial forward(const Case& use, DType dtype, Draw& draw) {
  return {{draw.tensor(dtype, use.x), draw.tensor(dtype, use.weight)},
          [&](std::span<const Var> in) { return conv(in[0], in[1], use.options); }};
}

KernelTrial input_gradient(const Case& use, DType dtype, Draw& draw) {
  return {{draw.tensor(dtype, use.output), draw.tensor(dtype, use.weight)},
          [&](std::span<const Var> in) {
            return conv_input_gradient(in[0], in[1], to_dims(use.order().spatial(use.x)),
                                       use.options);
          }};
}

KernelTrial weight_gradient(const Case& use, DType dtype, Draw& draw) {
  return {
      {draw.tensor(dtype, use.output), draw.tensor(dtype, use.x)}, [&](std::span<const Var> in) {
        return conv_weight_gradient(in[0], in[1], to_dims(spatial_axes(use.weight)), use.options);
      }};
}

void expect_all_agree(const Case& use, Draw& draw) {
  for (DType dtype : {f32, bf16, f16, f64}) {
    const double tolerance = kRoundings * conformance::epsilon_of(dtype);
    const std::string what = std::string(name(dtype)) + " " + use.str();
    forward(use, dtype, draw).expect_kernels_agree(tolerance, "forward, " + what);
    input_gradient(use, dtype, draw).expect_kernels_agree(tolerance, "gradient of x, " + what);
    weight_gradient(use, dtype, draw)
        .expect_kernels_agree(tolerance, "gradient of the weight, " + what);
  }
}

TEST(Convolution, RandomShapesAgreeWithTheReference) {
  Draw draw(1);
  for (int n = 0; n < 300 && !HasFailure(); ++n) {
    const Case drawn = draw_case(draw);
    expect_all_agree(drawn, draw);
    expect_all_agree(channels_last(drawn), draw);
  }
}

TEST(Convolution, ChannelsAreCutWhereTheBatchIsSmall) {
  Draw draw(3);
  for (const Case& use :
       {make_case({1, 67, 9, 9}, {83, 67, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}),
        make_case({1, 129, 40}, {96, 129, 3}, {{2}, {2}, {3}, 1}),
        make_case({1, 64, 3, 4, 5}, {131, 64, 1, 2, 2}, {{1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 1})}) {
    EXPECT_GT(choose_conv_grid(sizes_of(use), ConvPart::output).channels, 1);
    EXPECT_GT(choose_conv_grid(sizes_of(use), ConvPart::x).channels, 1);
    EXPECT_GT(choose_conv_grid(sizes_of(use), ConvPart::weight).channels, 1);
    expect_all_agree(use, draw);
    expect_all_agree(channels_last(use), draw);
  }
}

TEST(Convolution, SameBitsOnAnyNumberOfThreads) {
  std::vector<Case> cases = {
      make_case({16, 1, 28, 28}, {32, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}),
      make_case({13, 32, 14, 14}, {64, 32, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 1}),
      make_case({7, 64, 8, 8}, {64, 64, 1, 1}, {{2, 2}, {0, 0}, {1, 1}, 1}),
      make_case({1, 96, 9, 9}, {80, 96, 3, 3}, {{1, 1}, {0, 0}, {1, 1}, 1}),
      make_case({5, 24, 17}, {24, 1, 5}, {{1}, {2}, {2}, 24}),
      make_case({3, 8, 5, 6, 7}, {12, 4, 3, 2, 3}, {{1, 2, 1}, {1, 1, 0}, {1, 1, 2}, 2})};
  for (std::size_t i = 0, count = cases.size(); i < count; ++i) {
    cases.push_back(channels_last(cases[i]));
  }
  Draw draw(2);
  for (const Case& use : cases) {
    for (DType dtype : {f32, bf16, f64}) {
      const std::string what = std::string(name(dtype)) + " " + use.str();
      forward(use, dtype, draw).expect_same_bits_on_any_threads("forward, " + what);
      input_gradient(use, dtype, draw).expect_same_bits_on_any_threads("gradient of x, " + what);
      weight_gradient(use, dtype, draw)
          .expect_same_bits_on_any_threads("gradient of the weight, " + what);
    }
  }
}

}  // namespace antichain::cpu::convolution_test
