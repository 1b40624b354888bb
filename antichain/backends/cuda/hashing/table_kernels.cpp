// hash_tables, update_hash_tables: a stable sort of the ids of several tables at once by table and
// code (radix_sort.h), and what stays of each bucket (device/hash_tables.cuh).
#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/hashing/hashing_kernels.h"
#include "antichain/backends/cuda/indexing/radix_sort.h"
#include "antichain/ops/hashing/hash_tables.h"
#include "antichain/ops/state/row_updates.h"

namespace antichain::cuda {

namespace {

constexpr std::int64_t kScanThreads = 1024;
constexpr std::int64_t kMostSorted = std::int64_t{1} << 25;  // ids that are sorted at once: 1 GiB

struct KeySlot {
  enum : std::size_t { kCount, kRows, kCodes, kBits, kSource, kNote, kWhen, kOf, kKeys };
};
struct TableSlot {
  enum : std::size_t {
    kTables,
    kFirst,
    kRows,
    kCodes,
    kBits,
    kBucket,
    kReservoir,
    kWhen,
    kKeys,
    kOrder,
    kBegins,
    kStarts,
    kIds,
    kNumSlots
  };
};

constexpr const char* kTablesText = R"(#include "antichain/backends/cuda/device/hash_tables.cuh"
#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain::device;
struct Keys {
  long long count, rows, codes, bits, source;
  IndexNote* note;
  const bool* when;
  const int* of;
  unsigned long long* keys;
};
extern "C" __global__ void make_keys(const Keys a) {
  if (a.when != nullptr && !*a.when) {
    return;
  }
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x; e < a.count; e += step) {
    const long long code = checked(a.of[e], a.codes, a.note, a.source);
    a.keys[e] = (unsigned long long)(e / a.rows << a.bits | code);
  }
}
extern "C" __global__ void begins(const TableArguments a) { find_begins(a); }
extern "C" __global__ void starts(const TableArguments a) {
  __shared__ long long shared[1024];
  find_table_starts(a, shared);
}
extern "C" __global__ void fill(const TableArguments a) { fill_buckets(a); }
)";

// Sorts as many tables at a time as fit, with the same kernels.
class TableSort {
 public:
  TableSort(const KernelContext& context, const Context& device)
      : tables_(context.in(0).shape()[0]),
        rows_(context.in(0).shape()[1]),
        codes_(context.attr<std::int64_t>("num_codes")),
        at_once_(std::clamp<std::int64_t>(kMostSorted / std::max<std::int64_t>(rows_, 1), 1,
                                          std::max<std::int64_t>(tables_, 1))),
        code_bits_(bits_for(codes_)),
        sort_(device, at_once_ * rows_),
        begins_(DeviceContext::allocate(
            device, static_cast<std::size_t>(at_once_ * (codes_ + 1)) * sizeof(std::int32_t))),
        make_keys_(device, kTablesText, "make_keys", at_once_ * rows_, key_slots(context, device)),
        find_begins_(device, kTablesText, "begins", at_once_ * (codes_ + 1), slots(context)),
        find_starts_(device, kTablesText, "starts", at_once_,
                     dim3(static_cast<unsigned>(kScanThreads)), slots(context)),
        fill_(device, kTablesText, "fill", at_once_ * (codes_ + 1) * kWarp, slots(context)) {}

  /// Enqueues it; where `when` is given, for the case that it is true by then.
  void run(const void* codes, const void* starts, const void* ids, const void* when) {
    sort_.run_when(when);
    for (std::int64_t first = 0; first < tables_; first += at_once_) {
      // The last ones may begin among those before: the sort has one size.
      const std::int64_t from = std::min(first, tables_ - at_once_);
      make_keys_.set(KeySlot::kWhen, when);
      make_keys_.set(KeySlot::kOf, static_cast<const std::int32_t*>(codes) + from * rows_);
      make_keys_.set(KeySlot::kKeys, sort_.fresh_keys());
      make_keys_.run();
      sort_.run(code_bits_ + bits_for(at_once_));
      for (Launch* launch : {&find_begins_, &find_starts_, &fill_}) {
        launch->set(TableSlot::kFirst, from);
        launch->set(TableSlot::kWhen, when);
        launch->set(TableSlot::kKeys, sort_.keys());
        launch->set(TableSlot::kOrder, sort_.order());
        launch->set(TableSlot::kBegins, begins_->data());
        launch->set(TableSlot::kStarts, starts);
        launch->set(TableSlot::kIds, ids);
        launch->run();
      }
    }
  }

 private:
  std::vector<std::int64_t> key_slots(const KernelContext& context, const Context& device) const {
    return {at_once_ * rows_,
            rows_,
            codes_,
            code_bits_,
            device->report().source_of(std::string(context.where)),
            reinterpret_cast<std::intptr_t>(device->report().device_address()),
            0,
            0,
            0};
  }
  std::vector<std::int64_t> slots(const KernelContext& context) const {
    std::vector<std::int64_t> slots(TableSlot::kNumSlots);
    slots[TableSlot::kTables] = at_once_;
    slots[TableSlot::kRows] = rows_;
    slots[TableSlot::kCodes] = codes_;
    slots[TableSlot::kBits] = code_bits_;
    slots[TableSlot::kBucket] = context.attr<std::int64_t>("bucket");
    slots[TableSlot::kReservoir] = context.attr<std::string>("policy") == "reservoir" ? 1 : 0;
    return slots;
  }

  std::int64_t tables_, rows_, codes_, at_once_;
  int code_bits_;
  RadixSort sort_;
  std::shared_ptr<Buffer> begins_;
  Launch make_keys_, find_begins_, find_starts_, fill_;
};

}  // namespace

std::string hash_tables_text() { return kTablesText; }

void register_hash_tables(KernelTable& kernels, const Context& device) {
  const auto add = [&](const OpDef& def, auto plan) {
    kernels.add(def,
                {.name = "radix sort", .supports = [](Op) { return Support{}; }, .plan = plan});
  };
  add(hash_tables_def(), [device](const KernelContext& context) -> KernelFunction {
    return [sort = std::make_shared<TableSort>(context, device)](KernelContext& run) {
      sort->run(run.in(0).raw(), run.out(0).raw(), run.out(1).raw(), nullptr);
    };
  });
  add(update_hash_tables_def(), [device](const KernelContext& context) -> KernelFunction {
    const std::vector<std::string> states = updated_states(*context.attrs)[0];
    return [sort = std::make_shared<TableSort>(context, device), states](KernelContext& run) {
      const UpdatedMemory memory = modified_memory(*run.states, states, *run.device);
      sort->run(run.in(0).raw(), memory.after[0], memory.after[1], run.in(1).raw());
      run.out() = run.states->get(states[0], *run.device);
    };
  });
}

}  // namespace antichain::cuda
