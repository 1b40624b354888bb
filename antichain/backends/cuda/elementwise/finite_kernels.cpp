#include "antichain/backends/cuda/elementwise/finite_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/ops/catalogue.h"

namespace antichain::cuda {

namespace {

// The words of the reference: as many positions as there are axes.
std::string words_for(std::size_t rank, const char* value) {
  const std::vector<std::string> positions(rank, "{}");
  return fmt::format("the element at [{}] is {}", fmt::join(positions, ", "), value);
}

KernelFunction plan_finite_check(const KernelContext& context, const Context& device) {
  const Tensor& x = context.in(0);
  const auto rank = static_cast<std::size_t>(x.rank());
  const std::string& message = context.attr<std::string>("message");
  const std::string where =
      message.empty() ? std::string(context.where) : fmt::format("{}: {}", context.where, message);
  IndexReport& report = device->report();
  std::vector<std::int64_t> slots = {x.numel(), report.source_of(where, words_for(rank, "nan")),
                                     report.source_of(where, words_for(rank, "inf")),
                                     report.source_of(where, words_for(rank, "-inf"))};
  const Strides strides = contiguous_strides(x.shape());
  for (std::size_t axis = 0; axis < rank; ++axis) {
    slots.insert(slots.end(), {x.shape()[axis], strides[axis]});
  }
  const std::size_t first = slots.size();
  slots.resize(first + 4);
  const std::string text = finite_text(x.dtype(), rank);
  const auto find = std::make_shared<Launch>(device, text, "find", x.numel(), slots);
  const auto tell =
      std::make_shared<Launch>(device, text, "tell", x.numel() > 0 ? 1 : 0, dim3(1), slots);
  const std::shared_ptr<Buffer> place = DeviceContext::allocate(device, sizeof(std::int64_t));
  return [=](KernelContext& run) {
    for (Launch* launch : {find.get(), tell.get()}) {
      launch->set(first, device->report().device_address());
      launch->set(first + 1, place->data());
      launch->set_operands(first + 2, first + 3, run);
    }
    device->fill(place->data(), 0xff, place->bytes());
    find->run();
    tell->run();
  };
}

}  // namespace

// The first one is found by comparing places, which has one result in any order.
std::string finite_text(DType dtype, std::size_t rank) {
  std::string positions;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    positions += fmt::format(", a.axes[{}].position(at)", axis);
  }
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain;
using namespace antichain::device;
using T = {};
struct Arguments {{
  long long count, is_nan, is_large, is_small;
{}  IndexNote* note;
  unsigned long long* place;
  const T* x;
  T* out;
}};
extern "C" __global__ void find(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += step) {{
    const T element = a.x[i];
    if (!functors::IsFinite()(load<T>(element))) {{
      atomicMin(a.place, (unsigned long long)i);
    }}
    a.out[i] = element;
  }}
}}
extern "C" __global__ void tell(const Arguments a) {{
  const long long at = (long long)*a.place;
  if (at < 0) {{
    return;
  }}
  const Compute<T> value = load<T>(a.x[at]);
  const long long source = value != value ? a.is_nan : value > 0 ? a.is_large : a.is_small;
  note_down(a.note, source{});
}}
)",
                     storage_type(dtype),
                     rank > 0 ? fmt::format("  PackedAxis axes[{}];\n", rank) : "", positions);
}

void register_finite_check(KernelTable& kernels, const Context& device) {
  kernels.add(
      find_op("assert_finite"),
      {.name = "generated check",
       .supports =
           [](Op op) {
             return op.input(0).rank() <= IndexReport::kNumbers
                        ? Support{}
                        : Support::no("a report has room for 8 axes");
           },
       .plan =
           [device](const KernelContext& context) { return plan_finite_check(context, device); }});
}

}  // namespace antichain::cuda
