#include "antichain/backends/cuda/convolution/pooling_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/ops/convolution/pooling.h"
#include "antichain/ops/reference/sliding_windows.h"

namespace antichain::cuda {

namespace {

KernelFunction plan_max_pool(const KernelContext& context, const Context& device) {
  const Tensor &x = context.in(0), &out = context.out();
  const AxisOrder order = AxisOrder::of(*context.attrs);
  const WindowSteps steps = WindowSteps::of(*context.attrs);
  const Shape input = order.spatial(x.shape()), output = order.spatial(out.shape());
  const Ints& window = context.attr<Ints>("window");
  std::vector<std::int64_t> slots = {out.numel(), order.channels(x.shape()), numel(input)};
  for (std::size_t axis = 0; axis < input.size(); ++axis) {
    slots.insert(slots.end(), {input[axis], output[axis], window[axis], steps.stride[axis],
                               steps.padding[axis], steps.dilation[axis]});
  }
  const std::size_t first = slots.size();
  slots.resize(first + 3);
  const auto launch =
      std::make_shared<Launch>(device, pool_text(x.dtype(), input.size(), order.channels_last),
                               "max_pool", out.numel(), std::move(slots));
  return [launch, first](KernelContext& run) {
    launch->set(first, run.in(0).raw());
    launch->set(first + 1, run.out(0).raw());
    launch->set(first + 2, run.out(1).raw());
    launch->run();
  };
}

}  // namespace

// One thread per window; its elements are visited in row-major order, the first of equal ones wins.
std::string pool_text(DType dtype, std::size_t axes, bool channels_last) {
  std::string decode = "    long long rest = t;\n", loops, close, position = "0", inside = "true";
  const auto take = [&](const std::string& name, const std::string& size) {
    decode +=
        fmt::format("    const long long {} = rest % {};\n    rest /= {};\n", name, size, size);
  };
  if (channels_last) {
    take("c", "a.channels");
  }
  for (std::size_t axis = axes; axis-- > 0;) {
    take(fmt::format("o{}", axis), fmt::format("a.axes[{}].output", axis));
  }
  if (!channels_last) {
    take("c", "a.channels");
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    loops += fmt::format(
        "    for (long long w{0} = 0; w{0} < a.axes[{0}].window; ++w{0}) {{\n"
        "    const long long i{0} = o{0} * a.axes[{0}].stride + w{0} * "
        "a.axes[{0}].dilation - a.axes[{0}].padding;\n"
        "    if (i{0} < 0 || i{0} >= a.axes[{0}].input) continue;\n",
        axis);
    position = fmt::format("({}) * a.axes[{}].input + i{}", position, axis, axis);
    close += "    }\n";
  }
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
using namespace antichain::device;
using T = {};
struct Axis {{
  long long input, output, window, stride, padding, dilation;
}};
struct Arguments {{
  long long count, channels, positions;
  Axis axes[{}];
  const T* x;
  T* values;
  long long* winners;
}};
extern "C" __global__ void max_pool(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.count; t += step) {{
{}    const long long n = rest;
    Compute<T> best = Compute<T>(0);
    long long winner = -1;
{}    const long long at = {};
    const Compute<T> candidate = load<T>(a.x[{}]);
    if (winner < 0 || (best == best && (candidate > best || candidate != candidate))) {{
      best = candidate;
      winner = at;
    }}
{}    if (a.values) a.values[t] = stored<T>(best);
    if (a.winners) a.winners[t] = winner;
  }}
}}
)",
                     storage_type(dtype), axes, decode, loops, position,
                     channels_last ? "(n * a.positions + at) * a.channels + c"
                                   : "(n * a.channels + c) * a.positions + at",
                     close);
}

void register_pooling(KernelTable& kernels, const Context& context) {
  kernels.add(
      max_pool_def(),
      {.name = "generated pooling",
       .supports = [](Op) { return Support{}; },
       .plan = [context](const KernelContext& seen) { return plan_max_pool(seen, context); }});
}

}  // namespace antichain::cuda
