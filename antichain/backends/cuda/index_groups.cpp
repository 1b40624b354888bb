#include "antichain/backends/cuda/index_groups.h"

#include <fmt/format.h>

#include "antichain/backends/cuda/element_code.h"

namespace antichain::cuda {

namespace {

enum Slot : std::size_t {
  kElements,
  kGroups,
  kSize,
  kInner,
  kCount,
  kSource,
  kNote,
  kIndices,
  kKeys,
  kStarts,
  kNumSlots
};

std::vector<std::int64_t> slots_of(const Grouping& grouping) {
  std::vector<std::int64_t> slots(kNumSlots);
  slots[kElements] = grouping.elements;
  slots[kGroups] = grouping.groups;
  slots[kSize] = grouping.size;
  slots[kInner] = grouping.inner;
  slots[kCount] = grouping.count;
  slots[kSource] = grouping.source;
  return slots;
}

}  // namespace

std::string grouping_text(DType index, std::string_view group) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain::device;
struct Arguments {{
  long long elements, groups, size, inner, count, source;
  IndexNote* note;
  const {}* indices;
  unsigned long long* keys;
  long long* starts;
}};
extern "C" __global__ void find_groups(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x; e < a.elements; e += step) {{
    a.keys[e] = (unsigned long long)({});
  }}
}}
// The first of the sorted elements that is not in a group in front.
extern "C" __global__ void find_starts(const Arguments a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long g = (long long)blockIdx.x * blockDim.x + threadIdx.x; g <= a.groups; g += step) {{
    long long low = 0, high = a.elements;
    while (low < high) {{
      const long long middle = (low + high) / 2;
      if ((long long)a.keys[middle] < g) {{
        low = middle + 1;
      }} else {{
        high = middle;
      }}
    }}
    a.starts[g] = low;
  }}
}}
)",
                     storage_type(index), group);
}

IndexGroups::IndexGroups(const Context& device, const Grouping& grouping)
    : sort_(device, grouping.elements),
      starts_(DeviceContext::allocate(
          device, static_cast<std::size_t>(grouping.groups + 1) * sizeof(std::int64_t))),
      find_groups_(device, grouping_text(grouping.index, grouping.group), "find_groups",
                   grouping.elements, slots_of(grouping)),
      find_starts_(device, grouping_text(grouping.index, grouping.group), "find_starts",
                   grouping.groups + 1, slots_of(grouping)),
      bits_(bits_for(grouping.groups)),
      work_(device, grouping.constant) {
  find_groups_.set(kNote, device->report().device_address());
}

void IndexGroups::run(const void* indices) {
  work_.run([&] {
    find_groups_.set(kIndices, indices);
    find_groups_.set(kKeys, sort_.fresh_keys());
    find_groups_.run();
    sort_.run(bits_);
    find_starts_.set(kKeys, sort_.keys());
    find_starts_.set(kStarts, starts_->data());
    find_starts_.run();
  });
}

}  // namespace antichain::cuda
