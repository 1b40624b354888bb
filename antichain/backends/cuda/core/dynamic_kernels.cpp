#include "antichain/backends/cuda/core/dynamic_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/indexing/running_sum.h"
#include "antichain/backends/cuda/movement/strided_copy.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain::cuda {

namespace {

// Parts of the input, each counted and written by a thread.
constexpr std::int64_t kMostParts = 1 << 15, kFewestElements = 16;

void run_nonzero(KernelContext& context, const Context& device) {
  const Tensor& x = context.in(0);
  const auto rank = static_cast<std::size_t>(x.rank());
  const std::int64_t parts =
      std::min(kMostParts, (x.numel() + kFewestElements - 1) / kFewestElements);
  std::vector<std::int64_t> slots = {parts, x.numel()};
  const Strides strides = contiguous_strides(x.shape());
  for (std::size_t axis = 0; axis < rank; ++axis) {
    slots.insert(slots.end(), {x.shape()[axis], strides[axis]});
  }
  const std::size_t first = slots.size();
  slots.resize(first + 3);
  const std::string text = nonzero_text(x.dtype(), rank);
  const auto bytes = static_cast<std::size_t>(parts) * sizeof(std::int64_t);
  const std::shared_ptr<Buffer> counts = DeviceContext::allocate(device, bytes);
  std::int64_t found = 0;
  if (parts > 0) {
    Launch count(device, text, "count", parts, slots);
    count.set(first, x.raw());
    count.set(first + 1, counts->data());
    count.run();
    RunningSum(device, i64, AxisSplit({parts}, 0), {}).run(counts->data(), counts->data());
    device->copy(&found, static_cast<const std::int64_t*>(counts->data()) + (parts - 1),
                 sizeof(found), cudaMemcpyDeviceToHost);
  }
  context.out() = context.device->allocate(i64, {found, x.rank()});
  Launch write(device, text, "write", found * x.rank() > 0 ? parts : 0, slots);
  write.set(first, x.raw());
  write.set(first + 1, counts->data());
  write.set(first + 2, context.out().raw());
  write.run();
}

Shape shape_in(const KernelContext& context) {
  return context.device->to_host(context.in(1)).to_vector<std::int64_t>();
}

void run_broadcast(KernelContext& context, const Context& device) {
  const Tensor repeated = context.in(0).broadcast_to(shape_in(context));
  context.out() = context.device->allocate(repeated.dtype(), repeated.shape());
  const CopyPart part(Layout::packed(repeated.shape()), Layout::of(repeated),
                      size_of(repeated.dtype()));
  const CopyEnds ends{context.out().raw(), repeated.raw()};
  StridedCopies(device, {part}).run({&ends, 1});
}

}  // namespace

std::string nonzero_text(DType dtype, std::size_t rank) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
using namespace antichain::device;
using T = {};
constexpr int kRank = {};
struct Arguments {{
  long long parts, elements;
{}  const T* x;
  long long *counts, *out;
}};
// Calls f with the elements of a part that are not 0, in order.
template <class F>
void for_each_found(const Arguments& a, long long part, F f) {{
  const long long each = (a.elements + a.parts - 1) / a.parts;
  const long long end = min(a.elements, (part + 1) * each);
  for (long long e = part * each; e < end; ++e) {{
    if (load<T>(a.x[e]) != Compute<T>(0)) {{
      f(e);
    }}
  }}
}}
extern "C" __global__ void count(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x; p < a.parts; p += step) {{
    long long found = 0;
    for_each_found(a, p, [&](long long) {{ ++found; }});
    a.counts[p] = found;
  }}
}}
// By now, a count is that of all parts up to there.
extern "C" __global__ void write(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x; p < a.parts; p += step) {{
    long long row = p > 0 ? a.counts[p - 1] : 0;
    for_each_found(a, p, [&](long long e) {{
      for (int axis = 0; axis < kRank; ++axis) {{
        a.out[row * kRank + axis] = {};
      }}
      ++row;
    }});
  }}
}}
)",
                     storage_type(dtype), rank, rank > 0 ? "  PackedAxis axes[kRank];\n" : "",
                     rank > 0 ? "a.axes[axis].position(e)" : "0");
}

void register_dynamic(KernelTable& kernels, const Context& device) {
  const auto add = [&kernels](const OpDef& def, KernelFunction run) {
    kernels.add(def, {.name = "size from the host",
                      .supports = [](Op) { return Support{}; },
                      .run = std::move(run)});
  };
  add(nonzero_def(), [device](KernelContext& context) { run_nonzero(context, device); });
  // A copy: the memory of the input may be used for something else before the result is not.
  add(reshape_dynamic_def(), [](KernelContext& context) {
    context.out() = context.device->clone(context.in(0).reshape(shape_in(context)));
  });
  add(broadcast_dynamic_def(),
      [device](KernelContext& context) { run_broadcast(context, device); });
}

}  // namespace antichain::cuda
