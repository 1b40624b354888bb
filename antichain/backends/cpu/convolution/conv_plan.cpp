#include "antichain/backends/cpu/convolution/conv_plan.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "antichain/backends/cpu/elementwise/convert_elements.h"
#include "antichain/backends/cpu/threads/work_blocks.h"

namespace antichain::cpu {

namespace {

// Each partial sum of the weight's gradient is as large as the weight, and dear unless it adds up
// many products.
constexpr std::int64_t kMostPartialSums = 16, kFewestSummed = 1024;
// Thinner slices of channels spend their time on preparing the other operand.
constexpr std::int64_t kFewestChannels = 32;

std::int64_t power_of_two_below(std::int64_t number) {
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 1))));
}

// An input as the library wants it: converted first where its type is another.
class Converted {
 public:
  Converted(const Tensor& tensor, DType dtype) {
    if (tensor.dtype() != dtype) {
      copy_ = Tensor::empty(dtype, tensor.shape());
    }
  }
  const void* read(const Tensor& tensor) const {
    if (!copy_.defined()) {
      return tensor.raw();
    }
    convert_elements(tensor, copy_);
    return copy_.raw();
  }

 private:
  Tensor copy_;
};

}  // namespace

ConvSteps ConvSteps::packed(std::int64_t channels, std::int64_t positions, const AxisOrder& order) {
  return {channels * positions, order.channels_last ? 1 : positions,
          order.channels_last ? channels : 1};
}

ConvSizes ConvSizes::packed(std::int64_t batch, std::int64_t groups, std::int64_t in,
                            std::int64_t out, const Windows& windows, const AxisOrder& order) {
  ConvSizes sizes{batch, groups, in, out, windows, order, {}, {}, in * numel(windows.window)};
  sizes.x = sizes.packed_x();
  sizes.output = sizes.packed_output();
  return sizes;
}

ConvSteps ConvSizes::packed_x() const {
  return ConvSteps::packed(groups * in, numel(windows.input), order);
}

ConvSteps ConvSizes::packed_output() const {
  return ConvSteps::packed(groups * out, numel(windows.output), order);
}

ConvSizes ConvSizes::of(const KernelContext& context, ConvPart part) {
  const Tensor &first = context.in(0), &second = context.in(1), &result = context.out();
  const Tensor& x = part == ConvPart::output ? first : part == ConvPart::x ? result : second;
  const Tensor& weight = part == ConvPart::weight ? result : second;
  const Tensor& output = part == ConvPart::output ? result : first;
  const std::int64_t groups = context.attr<std::int64_t>("groups");
  const AxisOrder order = AxisOrder::of(*context.attrs);
  return packed(x.shape()[0], groups, weight.shape()[1], weight.shape()[0] / groups,
                {order.spatial(x.shape()), spatial_axes(weight.shape()),
                 order.spatial(output.shape()), WindowSteps::of(*context.attrs)},
                order);
}

double ConvSizes::work() const {
  return static_cast<double>(weight_size()) * static_cast<double>(numel(windows.output));
}

ConvSlice slice_channels(const ConvSizes& sizes, ConvPart part, std::int64_t first,
                         std::int64_t length) {
  ConvSlice slice{sizes, 0, 0, 0};
  switch (part) {
    case ConvPart::output:
      slice.sizes.out = length;
      slice.second_at = first * sizes.weight_step;
      slice.result_at = first * sizes.output.channel;
      break;
    case ConvPart::x:
      slice.sizes.in = length;
      slice.second_at = first * numel(sizes.windows.window);
      slice.result_at = first * sizes.x.channel;
      break;
    case ConvPart::weight:
      slice.sizes.out = length;
      slice.first_at = first * sizes.output.channel;
      slice.result_at = first * sizes.weight_step;
      break;
  }
  return slice;
}

Block ConvSlice::result_of(ConvPart part, std::int64_t examples) const {
  const bool is_output = part == ConvPart::output;
  const ConvSteps& steps = is_output ? sizes.output : sizes.x;
  const ConvSteps own = is_output ? sizes.packed_output() : sizes.packed_x();
  if (steps.position == own.position) {
    return {result_at, examples, own.example, steps.example};
  }
  // Some of the channels of every position.
  return {result_at, examples * (own.example / own.position), own.position, steps.position};
}

// Powers of two share out evenly among the usual numbers of threads.
ConvGrid choose_conv_grid(const ConvSizes& sizes, ConvPart part) {
  const std::int64_t wanted = wanted_blocks(sizes.work() * static_cast<double>(sizes.batch));
  ConvGrid grid{.batch = std::min(wanted, sizes.batch)};
  if (part == ConvPart::weight) {
    const std::int64_t summed = sizes.batch * numel(sizes.windows.output);
    grid.batch =
        std::min({grid.batch, kMostPartialSums, power_of_two_below(summed / kFewestSummed)});
  }
  if (sizes.groups == 1) {
    const std::int64_t channels = part == ConvPart::x ? sizes.in : sizes.out;
    grid.channels = power_of_two_below(std::min(channels / kFewestChannels, wanted / grid.batch));
  }
  return grid;
}

ProductPlan plan_conv(const KernelContext& context, ConvPart part, DType dtype,
                      const MakeConv& make, Destination to) {
  const Tensor& out = context.out();
  if (out.numel() == 0) {
    return {.run = [](KernelContext&, const TakeBlock*) {}};
  }
  if (context.in(0).numel() == 0 || context.in(1).numel() == 0) {
    return plan_zeros();
  }
  struct Plan {
    Converted first, second;
    ConvFunction compute;
  };
  const ConvSizes sizes = ConvSizes::of(context, part);
  const auto plan = std::make_shared<const Plan>(
      Plan{.first = Converted(context.in(0), dtype),
           .second = Converted(context.in(1), dtype),
           .compute = make(sizes, ProductTarget::is_apart(out, dtype, to))});
  return {.run =
              [plan, dtype](KernelContext& run, const TakeBlock* take) {
                const void* const first = plan->first.read(run.in(0));
                const void* const second = plan->second.read(run.in(1));
                plan->compute(first, second, ProductTarget(run.out(), dtype, take));
              },
          .cuts_rows = choose_conv_grid(sizes, part).channels > 1};
}

}  // namespace antichain::cpu
