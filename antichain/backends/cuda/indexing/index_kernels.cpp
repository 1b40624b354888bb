#include "antichain/backends/cuda/indexing/index_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/indexing/index_arguments.h"
#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/reference/compute.h"

namespace antichain::cuda {

namespace {

// What a kernel sees behind the sizes.
struct LookupSlot {
  enum : std::size_t { kX = IndexSlot::kNumCommon, kIndices, kOut, kNumSlots };
};

// Statements for element t of the result. An axis without elements has none to take in the place of
// a wrong one.
std::string_view statements(Lookup lookup) {
  switch (lookup) {
    case Lookup::slices:
      return R"(    const long long i = t % a.inner, k = t / a.inner % a.count;
    const long long o = t / a.inner / a.count;
    const long long at = checked(a.indices[k], a.size, a.note, a.source);
    a.out[t] = a.size > 0 ? a.x[(o * a.size + at) * a.inner + i] : T();
)";
    case Lookup::elements:
      return R"(    const long long i = t % a.inner, o = t / a.inner / a.count;
    const long long at = checked(a.indices[t], a.size, a.note, a.source);
    a.out[t] = a.size > 0 ? a.x[(o * a.size + at) * a.inner + i] : T();
)";
    case Lookup::checked_marks:
      return R"(    const long long at = checked(a.indices[t / a.size], a.size, a.note, a.source);
    a.out[t] = stored<T>(Compute<T>(at == t % a.size));
)";
    case Lookup::marks: break;
  }
  return R"(    const bool hot = a.indices[t / a.size] == t % a.size;
    a.out[t] = stored<T>(Compute<T>(hot));
)";
}

KernelFunction plan_lookup(const KernelContext& context, const Context& device, Lookup lookup,
                           const IndexSizes& sizes) {
  const int index_input = context.num_inputs() - 1;
  if (context.out().numel() == 0) {
    return lookup == Lookup::marks ? KernelFunction([](KernelContext&) {})
                                   : plan_look(context, device, index_input, sizes.size);
  }
  const std::string text =
      lookup_text(lookup, context.out().dtype(), context.in(index_input).dtype());
  const std::int64_t source = device->report().source_of(std::string(context.where));
  const auto launch =
      std::make_shared<Launch>(device, text, "lookup", sizes.threads,
                               index_slots(device, sizes, source, LookupSlot::kNumSlots));
  return [launch, index_input](KernelContext& run) {
    launch->set(LookupSlot::kX, run.in(0).raw());
    launch->set(LookupSlot::kIndices, run.in(index_input).raw());
    launch->set(LookupSlot::kOut, run.out().raw());
    launch->run();
  };
}

}  // namespace

std::string lookup_text(Lookup lookup, DType dtype, DType index) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {};
struct Arguments {{
{}  const T* x;
  const {}* indices;
  T* out;
}};
extern "C" __global__ void lookup(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.threads; t += step) {{
{}  }}
}}
)",
                     storage_type(dtype), kIndexMembers, storage_type(index), statements(lookup));
}

std::string look_text(DType index) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain::device;
struct Arguments {{
  long long threads, size, source;
  IndexNote* note;
  const {}* indices;
}};
extern "C" __global__ void look(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < a.threads; t += step) {{
    checked(a.indices[t], a.size, a.note, a.source);
  }}
}}
)",
                     storage_type(index));
}

KernelFunction plan_look(const KernelContext& context, const Context& device, int index_input,
                         std::int64_t size) {
  const Tensor& indices = context.in(index_input);
  IndexReport& report = device->report();
  constexpr std::size_t kLookNote = 3, kLookIndices = 4;
  const auto launch = std::make_shared<Launch>(
      device, look_text(indices.dtype()), "look", indices.numel(),
      std::vector<std::int64_t>{indices.numel(), size, report.source_of(std::string(context.where)),
                                0, 0});
  launch->set(kLookNote, report.device_address());
  return [launch, index_input](KernelContext& run) {
    launch->set(kLookIndices, run.in(index_input).raw());
    launch->run();
  };
}

void register_indexing(KernelTable& kernels, const Context& device) {
  const auto add = [&kernels](const OpDef& def, auto plan_of) {
    kernels.add(
        def,
        {.name = "generated indexing", .supports = [](Op) { return Support{}; }, .plan = plan_of});
  };
  add(gather_def(), [device](const KernelContext& context) {
    const Tensor& x = context.in(0);
    const AxisSplit split(x.shape(), context.axis("axis", x.rank()));
    return plan_lookup(context, device, Lookup::slices,
                       {context.out().numel(), split.size, split.inner, context.in(1).numel()});
  });
  add(take_along_def(), [device](const KernelContext& context) {
    const Tensor& x = context.in(0);
    const int axis = context.axis("axis", x.rank());
    const AxisSplit split(x.shape(), axis), picked(context.in(1).shape(), axis);
    return plan_lookup(context, device, Lookup::elements,
                       {context.out().numel(), split.size, split.inner, picked.size});
  });
  add(one_hot_def(), [device](const KernelContext& context) {
    return plan_lookup(context, device,
                       context.attr<bool>("checked") ? Lookup::checked_marks : Lookup::marks,
                       {context.out().numel(), context.size("classes")});
  });
}

}  // namespace antichain::cuda
