#include "antichain/backends/cuda/elementwise/cast_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/elementwise/element_runs.h"
#include "antichain/ops/elementwise/cast_all.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kCastThreads = 256;
// Elements: a multiple of all lengths of runs.
constexpr std::int64_t kCastsPerBlock = 8 * kCastThreads;
constexpr std::size_t kValueSlots = 5;
constexpr std::size_t kMostCasts = 64;  // of a launch: arguments have room for 4 KiB

// Elements that are read and written at once.
std::int64_t cast_run_length(DType from, DType to) {
  return std::min(kLongestRun,
                  kRunBytes / static_cast<std::int64_t>(std::max(size_of(from), size_of(to))));
}

// The values that one launch converts.
struct CastLaunch {
  std::size_t first, count;
  Launch launch;
};

KernelFunction plan_casts(const KernelContext& context, const Context& device) {
  const DType from = context.in(0).dtype(), to = context.out(0).dtype();
  const auto launches = std::make_shared<std::vector<CastLaunch>>();
  for (std::size_t first = 0; first < context.inputs.size(); first += kMostCasts) {
    const std::size_t count = std::min(kMostCasts, context.inputs.size() - first);
    // There are fewer different kernels than numbers of values.
    const std::size_t places = std::bit_ceil(count);
    std::vector<std::int64_t> slots(places * kValueSlots);
    std::int64_t blocks = 0;
    for (std::size_t i = 0; i < places; ++i) {
      const std::int64_t elements = i < count ? context.inputs[first + i]->numel() : 0;
      slots[i * kValueSlots] = i < count ? blocks : std::numeric_limits<std::int64_t>::max();
      slots[i * kValueSlots + 1] = elements;
      blocks += (elements + kCastsPerBlock - 1) / kCastsPerBlock;
    }
    launches->push_back({first, count,
                         Launch(device, casts_text(from, to, places), "casts", blocks,
                                dim3(static_cast<unsigned>(kCastThreads)), std::move(slots))});
  }
  const std::int64_t length = cast_run_length(from, to);
  return [launches, length](KernelContext& run) {
    for (CastLaunch& part : *launches) {
      for (std::size_t i = 0; i < part.count; ++i) {
        const Tensor &in = *run.inputs[part.first + i], &out = *run.outputs[part.first + i];
        const bool aligned = is_aligned(in, length) && is_aligned(out, length);
        part.launch.set(i * kValueSlots + 2, std::int64_t{aligned});
        part.launch.set(i * kValueSlots + 3, in.raw());
        part.launch.set(i * kValueSlots + 4, out.raw());
      }
      part.launch.run();
    }
  };
}

}  // namespace

// Every block belongs to one value. What is left of its runs, or all of what is not aligned, is
// converted element by element.
std::string casts_text(DType from, DType to, std::size_t values) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
using namespace antichain;
using namespace antichain::device;
using From = {0};
using To = {1};
struct Value {{
  long long first_block, count, aligned;
  const void* from;
  void* to;
}};
struct Arguments {{
  Value values[{2}];
}};
template <int kLength>
void convert(const Value& value, long long i) {{
  const Run<From, kLength> run = load_run<From, kLength>(value.from, i);
  Run<To, kLength> converted;
#pragma unroll
  for (int e = 0; e < kLength; ++e) {{
    converted.at[e] = stored<To>(cast_to<To>(load<From>(run.at[e])));
  }}
  store_run(value.to, i, converted);
}}
extern "C" __global__ void casts(const __grid_constant__ Arguments a) {{
  int at = 0;
  while (at + 1 < {2} && a.values[at + 1].first_block <= blockIdx.x) {{
    ++at;
  }}
  const Value& value = a.values[at];
  const long long begin = (blockIdx.x - value.first_block) * {3}LL;
  const long long end = begin + {3} < value.count ? begin + {3} : value.count;
  const long long runs_end = value.aligned ? end / {4} * {4} : begin;
  for (long long i = begin + threadIdx.x * {4}; i < runs_end; i += blockDim.x * {4}) {{
    convert<{4}>(value, i);
  }}
  for (long long i = runs_end + threadIdx.x; i < end; i += blockDim.x) {{
    convert<1>(value, i);
  }}
}}
)",
                     storage_type(from), storage_type(to), values, kCastsPerBlock,
                     cast_run_length(from, to));
}

void register_casts(KernelTable& kernels, const Context& context) {
  kernels.add(cast_all_def(),
              {.name = "generated conversions",
               .supports = [](Op) { return Support{}; },
               .plan = [context](const KernelContext& seen) { return plan_casts(seen, context); }});
}

}  // namespace antichain::cuda
