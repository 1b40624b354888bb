#include "antichain/backends/cuda/indexing/scatter_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/indexing/index_arguments.h"
#include "antichain/backends/cuda/indexing/index_groups.h"
#include "antichain/backends/cuda/indexing/index_kernels.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cuda {

namespace {

// Whether every element had better look at all indices of its line than have them sorted: where
// there are hardly more than it has to write anyway, or the looks are few.
bool searches(std::int64_t elements, std::int64_t count) {
  constexpr std::int64_t kAlways = 16, kMost = 512, kMostLooks = std::int64_t{1} << 28;
  return count <= kAlways || (count <= kMost && elements <= kMostLooks / count);
}

// What a kernel sees behind the sizes; updates[outer, count, inner].
struct ScatterSlot {
  enum : std::size_t {
    kIndices = IndexSlot::kNumCommon,
    kOrder,
    kStarts,
    kX,
    kUpdates,
    kOut,
    kNumSlots
  };
};

struct FewSlot {
  enum : std::size_t { kKeys = IndexSlot::kNumCommon, kOrder, kUpdates, kOut, kNumSlots };
};

// Statements that add the updates of element t, which is s of outer o and inner i.
std::string_view additions(bool along, bool grouped) {
  if (grouped) {
    return along ? R"(    for (long long p = a.starts[t]; p < a.starts[t + 1]; ++p) {
      add(a.order[p]);
    }
)"
                 : R"(    for (long long p = a.starts[s]; p < a.starts[s + 1]; ++p) {
      add((o * a.count + a.order[p]) * a.inner + i);
    }
)";
  }
  return along ? R"(    for (long long k = 0; k < a.count; ++k) {
      const long long from = (o * a.count + k) * a.inner + i;
      if (checked(a.indices[from], a.size, a.note, a.source) == s) {
        add(from);
      }
    }
)"
               : R"(    for (long long k = 0; k < a.count; ++k) {
      if (checked(a.indices[k], a.size, a.note, a.source) == s) {
        add((o * a.count + k) * a.inner + i);
      }
    }
)";
}

// Whether so few elements change that the others are better copied, if they have to be.
bool changes_few(std::int64_t size, std::int64_t count) {
  constexpr std::int64_t kShare = 4;
  return count <= size / kShare;
}

KernelFunction plan_few(const KernelContext& context, const Context& device,
                        const Grouping& grouping, const IndexSizes& sizes) {
  const auto groups = std::make_shared<IndexGroups>(device, grouping);
  const auto launch = std::make_shared<Launch>(
      device, scatter_few_text(context.in(0).dtype()), "scatter", sizes.threads,
      index_slots(device, sizes, grouping.source, FewSlot::kNumSlots));
  return [device, launch, groups](KernelContext& run) {
    groups->run(run.in(1).raw());
    if (run.out().raw() != run.in(0).raw()) {
      device->copy(run.out().raw(), run.in(0).raw(), run.out().bytes(), cudaMemcpyDeviceToDevice);
    }
    launch->set(FewSlot::kKeys, groups->keys());
    launch->set(FewSlot::kOrder, groups->order());
    launch->set(FewSlot::kUpdates, run.in(2).raw());
    launch->set(FewSlot::kOut, run.out().raw());
    launch->run();
  };
}

KernelFunction plan_scatter_add(const KernelContext& context, const Context& device, bool along) {
  const Tensor &x = context.in(0), &indices = context.in(1);
  const int axis = context.axis("axis", x.rank());
  const AxisSplit split(x.shape(), axis);
  if (x.numel() == 0) {
    return plan_look(context, device, 1, split.size);
  }
  const std::int64_t count =
      along ? indices.shape()[static_cast<std::size_t>(axis)] : indices.numel();
  const bool grouped = !searches(x.numel(), count);
  const IndexSizes sizes{x.numel(), split.size, split.inner, count};
  const std::int64_t source = device->report().source_of(std::string(context.where));
  const bool few = grouped && !along && changes_few(split.size, count);
  const Grouping grouping{.elements = indices.numel(),
                          .groups = along ? x.numel() : split.size,
                          .index = indices.dtype(),
                          .group = scatter_group(along),
                          .size = split.size,
                          .inner = split.inner,
                          .count = count,
                          .source = source,
                          .constant = is_constant(context.op, 1),
                          .starts = !few};
  if (few) {
    return plan_few(context, device, grouping,
                    {split.outer * count * split.inner, split.size, split.inner, count});
  }
  const auto launch = std::make_shared<Launch>(
      device, scatter_text(x.dtype(), indices.dtype(), along, grouped), "scatter", sizes.threads,
      index_slots(device, sizes, source, ScatterSlot::kNumSlots));
  const auto groups = grouped ? std::make_shared<IndexGroups>(device, grouping) : nullptr;
  return [launch, groups](KernelContext& run) {
    if (groups) {
      groups->run(run.in(1).raw());
      launch->set(ScatterSlot::kOrder, groups->order());
      launch->set(ScatterSlot::kStarts, groups->starts());
    }
    launch->set(ScatterSlot::kIndices, run.in(1).raw());
    launch->set(ScatterSlot::kX, run.in(0).raw());
    launch->set(ScatterSlot::kUpdates, run.in(2).raw());
    launch->set(ScatterSlot::kOut, run.out().raw());
    launch->run();
  };
}

}  // namespace

std::string_view scatter_group(bool along) {
  return along ? "(e / a.inner / a.count * a.size + checked(a.indices[e], a.size, a.note, "
                 "a.source)) * a.inner + e % a.inner"
               : "checked(a.indices[e], a.size, a.note, a.source)";
}

// One thread per element of the result. It is brought to its type when all have been added.
std::string scatter_text(DType dtype, DType index, bool along, bool grouped) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/fold.cuh"
#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {};
struct Arguments {{
{}  const {}* indices;
  const long long *order, *starts;
  const T *x, *updates;
  T* out;
}};
extern "C" __global__ void scatter(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.threads; t += step) {{
    const long long i = t % a.inner, s = t / a.inner % a.size, o = t / a.inner / a.size;
    Total<T> total = Total<T>(load<T>(a.x[t]));
    const auto add = [&](long long from) {{
      total = functors::Add()(total, Total<T>(load<T>(a.updates[from])));
    }};
{}    a.out[t] = stored<T>(Compute<T>(total));
  }}
}}
)",
                     storage_type(dtype), kIndexMembers, storage_type(index),
                     additions(along, grouped));
}

// A thread per update that is the first one of an element, which adds those that follow it. The
// result holds x by then.
std::string scatter_few_text(DType dtype) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/fold.cuh"
#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {};
struct Arguments {{
{}  const unsigned long long* keys;
  const long long* order;
  const T* updates;
  T* out;
}};
extern "C" __global__ void scatter(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.threads; t += step) {{
    const long long i = t % a.inner, first = t / a.inner % a.count, o = t / a.inner / a.count;
    const unsigned long long s = a.keys[first];
    if (first > 0 && a.keys[first - 1] == s) {{
      continue;
    }}
    T& element = a.out[(o * a.size + (long long)s) * a.inner + i];
    Total<T> total = Total<T>(load<T>(element));
    for (long long p = first; p < a.count && a.keys[p] == s; ++p) {{
      const long long from = (o * a.count + a.order[p]) * a.inner + i;
      total = functors::Add()(total, Total<T>(load<T>(a.updates[from])));
    }}
    element = stored<T>(Compute<T>(total));
  }}
}}
)",
                     storage_type(dtype), kIndexMembers);
}

void register_scatter(KernelTable& kernels, const Context& device) {
  const auto add = [&](const OpDef& def, bool along) {
    kernels.add(def, {.name = "sums in order",
                      .supports = [](Op) { return Support{}; },
                      .plan =
                          [device, along](const KernelContext& context) {
                            return plan_scatter_add(context, device, along);
                          },
                      .in_place = true,
                      .may_overwrite = [](Op, int, int in) { return in == 0; }});
  };
  add(scatter_add_def(), false);
  add(scatter_add_along_def(), true);
}

}  // namespace antichain::cuda
