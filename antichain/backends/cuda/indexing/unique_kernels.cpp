#include "antichain/backends/cuda/indexing/unique_kernels.h"

#include <memory>

#include "antichain/backends/cuda/indexing/radix_sort.h"
#include "antichain/backends/cuda/indexing/running_sum.h"
#include "antichain/ops/indexing/indexing.h"

namespace antichain::cuda {

namespace {

struct UniqueSlot {
  enum : std::size_t {
    kCount,
    kSize,
    kMost,
    kSource,
    kNote,
    kIndices,
    kKeys,
    kOrder,
    kRanks,
    kUnique,
    kSlots,
    kNumSlots
  };
};

constexpr const char* kUniqueText = R"(#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain::device;
struct Arguments {
  long long count, size, most, source;
  IndexNote* note;
  const long long* indices;
  unsigned long long* keys;
  const long long* order;
  long long *ranks, *unique, *slots;
};
long long first_thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
long long all_threads() { return (long long)gridDim.x * blockDim.x; }

extern "C" __global__ void make_keys(const Arguments a) {
  for (long long k = first_thread(); k < a.count; k += all_threads()) {
    a.keys[k] = (unsigned long long)checked(a.indices[k], a.size, a.note, a.source);
  }
}
extern "C" __global__ void mark_first(const Arguments a) {
  for (long long k = first_thread(); k < a.count; k += all_threads()) {
    a.ranks[k] = k == 0 || a.keys[k] != a.keys[k - 1];
  }
}
extern "C" __global__ void give(const Arguments a) {
  const long long found = a.count > 0 ? a.ranks[a.count - 1] : 0;
  for (long long k = first_thread(); k < a.count; k += all_threads()) {
    const long long slot = a.ranks[k] - 1;
    a.slots[a.order[k]] = slot;
    if ((k == 0 || a.keys[k] != a.keys[k - 1]) && slot < a.most) {
      a.unique[slot] = (long long)a.keys[k];
    }
    if (k >= found && k < a.most) {
      a.unique[k] = -1;
    }
  }
}
)";

struct UniquePlan {
  RadixSort sort;
  RunningSum add_up;
  std::shared_ptr<Buffer> ranks;
  Launch make_keys, mark_first, give;
  int bits;

  void run(const KernelContext& context) {
    make_keys.set(UniqueSlot::kIndices, context.in(0).raw());
    make_keys.set(UniqueSlot::kKeys, sort.fresh_keys());
    make_keys.run();
    sort.run(bits);
    for (Launch* launch : {&mark_first, &give}) {
      launch->set(UniqueSlot::kKeys, sort.keys());
      launch->set(UniqueSlot::kOrder, sort.order());
      launch->set(UniqueSlot::kRanks, ranks->data());
      launch->set(UniqueSlot::kUnique, context.out(0).raw());
      launch->set(UniqueSlot::kSlots, context.out(1).raw());
    }
    mark_first.run();
    add_up.run(ranks->data(), ranks->data());
    give.run();
  }
};

KernelFunction plan_unique_indices(const KernelContext& context, const Context& device) {
  const std::int64_t count = context.in(0).numel(), size = context.size("size");
  std::vector<std::int64_t> slots(UniqueSlot::kNumSlots);
  slots[UniqueSlot::kCount] = count;
  slots[UniqueSlot::kSize] = size;
  slots[UniqueSlot::kMost] = context.out(0).numel();
  slots[UniqueSlot::kSource] = device->report().source_of(std::string(context.where));
  const auto launch = [&](const char* name) {
    return Launch(device, kUniqueText, name, count, slots);
  };
  const auto plan = std::make_shared<UniquePlan>(UniquePlan{
      RadixSort(device, count), RunningSum(device, DType::i64, AxisSplit({count}, 0), {}),
      DeviceContext::allocate(device, static_cast<std::size_t>(count) * sizeof(std::int64_t)),
      launch("make_keys"), launch("mark_first"), launch("give"), bits_for(size)});
  plan->make_keys.set(UniqueSlot::kNote, device->report().device_address());
  return [plan](KernelContext& run) { plan->run(run); };
}

}  // namespace

std::string unique_text() { return kUniqueText; }

void register_unique_indices(KernelTable& kernels, const Context& device) {
  kernels.add(unique_indices_def(), {.name = "radix sort",
                                     .supports = [](Op) { return Support{}; },
                                     .plan =
                                         [device](const KernelContext& context) {
                                           return plan_unique_indices(context, device);
                                         }});
}

}  // namespace antichain::cuda
