#include "antichain/backends/cuda/indexing/index_arguments.h"

#include "antichain/backends/cuda/indexing/index_report.h"

namespace antichain::cuda {

std::vector<std::int64_t> index_slots(const Context& device, const IndexSizes& sizes,
                                      std::int64_t source, std::size_t num_slots) {
  std::vector<std::int64_t> slots(num_slots);
  slots[IndexSlot::kThreads] = sizes.threads;
  slots[IndexSlot::kSize] = sizes.size;
  slots[IndexSlot::kInner] = sizes.inner;
  slots[IndexSlot::kCount] = sizes.count;
  slots[IndexSlot::kSource] = source;
  slots[IndexSlot::kNote] =
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(device->report().device_address()));
  return slots;
}

}  // namespace antichain::cuda
