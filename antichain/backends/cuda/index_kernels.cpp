#include "antichain/backends/cuda/index_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/element_code.h"
#include "antichain/backends/cuda/launch.h"
#include "antichain/ops/indexing.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cuda {

namespace {

// What a kernel sees: x[outer, size, inner], indices with `count` positions along the axis.
enum Slot : std::size_t {
  kThreads,
  kOuter,
  kSize,
  kInner,
  kCount,
  kSource,
  kNote,
  kX,
  kIndices,
  kUpdates,
  kOut,
  kNumSlots
};

// `inside` is C++ for thread t.
std::string index_text(DType dtype, DType index_dtype, std::string_view inside) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {};
struct Arguments {{
  long long threads, outer, size, inner, count, source;
  IndexNote* note;
  const T* x;
  const {}* indices;
  const T* updates;
  T* out;
}};
extern "C" __global__ void index(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.threads; t += step) {{
{}  }}
}}
)",
                     storage_type(dtype), storage_type(index_dtype), inside);
}

// One thread per element of the result.
constexpr std::string_view kGather =
    R"(    const long long i = t % a.inner, k = t / a.inner % a.count;
    const long long o = t / a.inner / a.count;
    const long long at = checked(a.indices[k], a.size, a.note, a.source);
    a.out[t] = a.x[(o * a.size + at) * a.inner + i];
)";
constexpr std::string_view kTakeAlong =
    R"(    const long long i = t % a.inner, o = t / a.inner / a.count;
    const long long at = checked(a.indices[t], a.size, a.note, a.source);
    a.out[t] = a.x[(o * a.size + at) * a.inner + i];
)";
constexpr std::string_view kOneHot = R"(    const bool hot = a.indices[t / a.size] == t % a.size;
    a.out[t] = stored<T>(Compute<T>(hot));
)";
// One thread per line along the axis: sums are added in the order of the indices, so they are
// repeatable. An element is brought to its type only when all of them have been added.
constexpr std::string_view kScatter = R"(    const long long i = t % a.inner, o = t / a.inner;
    for (long long s = 0; s < a.size; ++s) {{
      const long long at = (o * a.size + s) * a.inner + i;
      a.out[at] = a.x[at];
    }}
    for (long long k = 0; k < a.count; ++k) {{
      const long long from = (o * a.count + k) * a.inner + i;
      const long long s = checked(a.indices[{0}], a.size, a.note, a.source);
      const long long at = (o * a.size + s) * a.inner + i;
      a.out[at] = stored<T>(functors::Add()(load<T>(a.out[at]), load<T>(a.updates[from])));
    }}
)";

struct Sizes {
  std::int64_t threads, outer, size, inner, count;
};

KernelFunction plan(const KernelContext& context, const Context& device, std::string_view inside,
                    const Sizes& sizes, int index_input) {
  const std::string text =
      index_text(context.out().dtype(), context.in(index_input).dtype(), inside);
  std::vector<std::int64_t> slots(kNumSlots);
  slots[kThreads] = sizes.threads;
  slots[kOuter] = sizes.outer;
  slots[kSize] = sizes.size;
  slots[kInner] = sizes.inner;
  slots[kCount] = sizes.count;
  slots[kSource] = device->report().source_of(std::string(context.where));
  const auto launch = std::make_shared<Launch>(device, text, "index", sizes.threads, slots);
  launch->set(kNote, device->report().device_address());
  return [launch, index_input](KernelContext& run) {
    launch->set(kIndices, run.in(index_input).raw());
    launch->set(kX, run.in(0).raw());
    if (run.num_inputs() > 2) {
      launch->set(kUpdates, run.in(2).raw());
    }
    launch->set(kOut, run.out().raw());
    launch->run();
  };
}

Sizes sizes_along(const KernelContext& context, std::int64_t count) {
  const Tensor& x = context.in(0);
  const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
  return {context.out().numel(), split.outer, split.size, split.inner, count};
}

std::int64_t count_along(const KernelContext& context) {
  return context.in(1)
      .shape()[static_cast<std::size_t>(context.axis("axis", context.in(0).rank()))];
}

// Sums of 16 bits would be rounded at every step.
Support supports_sums(Op op) {
  const DType dtype = op.input(0).dtype();
  return dtype == bf16 || dtype == f16 ? Support::no("sums of 16 bits lose too much") : Support{};
}

}  // namespace

void register_indexing(KernelTable& kernels, const Context& device) {
  const auto add = [&kernels](const OpDef& def, auto plan_of, Support (*supports)(Op)) {
    kernels.add(def, {.name = "generated indexing", .supports = supports, .plan = plan_of});
  };
  const auto always = [](Op) { return Support{}; };
  add(
      gather_def(),
      [device](const KernelContext& context) {
        return plan(context, device, kGather, sizes_along(context, context.in(1).numel()), 1);
      },
      always);
  add(
      take_along_def(),
      [device](const KernelContext& context) {
        return plan(context, device, kTakeAlong, sizes_along(context, count_along(context)), 1);
      },
      always);
  add(
      one_hot_def(),
      [device](const KernelContext& context) {
        const Sizes sizes{.threads = context.out().numel(), .size = context.size("classes")};
        return plan(context, device, kOneHot, sizes, 0);
      },
      always);
  const auto plan_scatter = [device](const KernelContext& context, std::int64_t count,
                                     std::string_view index) {
    Sizes sizes = sizes_along(context, count);
    sizes.threads = sizes.outer * sizes.inner;
    return plan(context, device, fmt::format(kScatter, index), sizes, 1);
  };
  add(
      scatter_add_def(),
      [plan_scatter](const KernelContext& context) {
        return plan_scatter(context, context.in(1).numel(), "k");
      },
      supports_sums);
  add(
      scatter_add_along_def(),
      [plan_scatter](const KernelContext& context) {
        return plan_scatter(context, count_along(context), "from");
      },
      supports_sums);
}

}  // namespace antichain::cuda
