#include "antichain/backends/cuda/indexing/index_groups.h"

#include <fmt/format.h>

#include "antichain/backends/cuda/elementwise/element_code.h"

namespace antichain::cuda {

namespace {

struct GroupSlot {
  enum : std::size_t {
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
};

std::vector<std::int64_t> grouping_slots(const Grouping& grouping) {
  std::vector<std::int64_t> slots(GroupSlot::kNumSlots);
  slots[GroupSlot::kElements] = grouping.elements;
  slots[GroupSlot::kGroups] = grouping.groups;
  slots[GroupSlot::kSize] = grouping.size;
  slots[GroupSlot::kInner] = grouping.inner;
  slots[GroupSlot::kCount] = grouping.count;
  slots[GroupSlot::kSource] = grouping.source;
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
          device, static_cast<std::size_t>(grouping.starts ? grouping.groups + 1 : 0) *
                      sizeof(std::int64_t))),
      find_groups_(device, grouping_text(grouping.index, grouping.group), "find_groups",
                   grouping.elements, grouping_slots(grouping)),
      find_starts_(device, grouping_text(grouping.index, grouping.group), "find_starts",
                   grouping.starts ? grouping.groups + 1 : 0, grouping_slots(grouping)),
      bits_(bits_for(grouping.groups)),
      work_(device, grouping.constant) {
  find_groups_.set(GroupSlot::kNote, device->report().device_address());
}

void IndexGroups::run(const void* indices) {
  work_.run([&] {
    find_groups_.set(GroupSlot::kIndices, indices);
    find_groups_.set(GroupSlot::kKeys, sort_.fresh_keys());
    find_groups_.run();
    sort_.run(bits_);
    find_starts_.set(GroupSlot::kKeys, sort_.keys());
    find_starts_.set(GroupSlot::kStarts, starts_->data());
    find_starts_.run();
  });
}

}  // namespace antichain::cuda
