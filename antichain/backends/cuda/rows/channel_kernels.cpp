#include "antichain/backends/cuda/rows/channel_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/elementwise/element_runs.h"
#include "antichain/backends/cuda/rows/block_split.h"
#include "antichain/ops/convolution/channel_sums.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kChannelThreads = 256;
constexpr std::int64_t kLineBytes = 128;  // that neighbouring threads read together
// Enough; what each has found is joined by a single one.
constexpr std::int64_t kWantedChannelBlocks = 256;
constexpr std::int64_t kFewestRuns = 8;  // of a thread; fewer do not pay for another block

// The longest run that divides a packed axis of this size.
std::int64_t run_along(std::int64_t size, std::int64_t element_bytes) {
  std::int64_t run = kRunBytes / element_bytes;
  while (size % run != 0) {
    run /= 2;
  }
  return run;
}

}  // namespace

ChannelSplit::ChannelSplit(std::int64_t outer, std::int64_t channels, std::int64_t inner,
                           DType dtype)
    : channels(channels), columns(inner == 1) {
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  if (columns) {
    run = run_along(channels, bytes);
    count = outer;
    // Two channels at least: sums are joined in pieces of 16 bytes.
    across = std::min({kWarp, kLineBytes / (run * bytes),
                       std::max<std::int64_t>(power_of_two(channels / run), run == 1 ? 2 : 1)});
    along = kChannelThreads / across;
  } else {
    run = run_along(inner, bytes);
    count = outer * inner / run;
    along = count > kWarp * kFewestRuns ? kChannelThreads : kWarp;
    across = kChannelThreads / along;
  }
  length = count;
  const std::int64_t wanted = kWantedChannelBlocks / std::max<std::int64_t>(groups(), 1);
  if (const std::int64_t most = std::min(wanted, count / (along * kFewestRuns)); most > 1) {
    length = divided_up(count, most);
    parts = divided_up(count, length);
  }
}

std::int64_t ChannelSplit::groups() const { return divided_up(channels, block_channels()); }

std::string channel_sum_text(ChannelSum kind, DType dtype, DType stat, const ChannelSplit& split) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/channel_sums.cuh"
using namespace antichain::device;
extern "C" __global__ void __launch_bounds__(256, 2) channel_sums(const ChannelArguments a) {{
  sum_channels<{0}, {1}<{0}, {2}>, {3}, {4}, {5}>(a);
}}
)",
                     storage_type(dtype),
                     kind == ChannelSum::moments ? "MomentSums" : "GradientSums",
                     storage_type(stat), split.count < kMostOf32Bits ? "unsigned" : "long long",
                     split.columns, split.run);
}

namespace {

KernelFunction plan_channel_sums(const KernelContext& context, const Context& device,
                                 ChannelSum kind) {
  enum Slot { kAligned = 7, kX, kGrad, kMean, kSlope, kFirst, kSecond, kFound, kCounters, kSlots };
  const int x = kind == ChannelSum::moments ? 0 : 1;  // its place among the inputs
  const AxisSplit axes(context.in(x).shape(), context.axis("axis", context.in(x).rank()));
  const ChannelSplit split(axes.outer, axes.size, axes.inner, context.in(x).dtype());
  std::vector<std::int64_t> slots = {axes.size,   axes.outer,  axes.inner,  split.across,
                                     split.along, split.parts, split.length};
  slots.resize(kSlots);
  const DType stat = context.op.output().dtype();
  const auto launch = std::make_shared<Launch>(
      device, channel_sum_text(kind, context.in(x).dtype(), stat, split), "channel_sums",
      split.groups() * split.parts, dim3(kChannelThreads), std::move(slots));
  std::shared_ptr<const PartialResults> found;
  if (split.parts > 1) {
    const std::int64_t sums = 2 * split.block_channels() * split.groups() * split.parts;
    found = std::make_shared<const PartialResults>(device, sums, split.groups());
    launch->set(kFound, found->results());
    launch->set(kCounters, found->counters());
  }
  // The kernel has only the addresses of what was found: it is kept by being captured.
  return [launch, found, kind, x, run = split.run](KernelContext& now) {
    bool aligned = is_aligned(now.in(x), run);
    launch->set(kX, now.in(x).raw());
    if (kind == ChannelSum::gradient) {
      aligned = aligned && is_aligned(now.in(0), run);
      launch->set(kGrad, now.in(0).raw());
      launch->set(kMean, now.in(2).raw());
      launch->set(kSlope, now.in(3).raw());
    }
    launch->set(kAligned, std::int64_t{aligned});
    launch->set(kFirst, now.out(0).raw());
    launch->set(kSecond, now.out(1).raw());
    launch->run();
  };
}

}  // namespace

void register_channel_sums(KernelTable& kernels, const Context& context) {
  const auto add = [&](const OpDef& def, ChannelSum kind) {
    kernels.add(def, {.name = "sums of channels",
                      .supports = [](Op) { return Support{}; },
                      .plan =
                          [context, kind](const KernelContext& seen) {
                            return plan_channel_sums(seen, context, kind);
                          }});
  };
  add(channel_moments_def(), ChannelSum::moments);
  add(channel_gradient_sums_def(), ChannelSum::gradient);
}

}  // namespace antichain::cuda
