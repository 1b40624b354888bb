// active_units for all examples of a batch together: see device/active_units.cuh.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/hashing/hashing_kernels.h"
#include "antichain/backends/cuda/indexing/radix_sort.h"
#include "antichain/ops/hashing/active_units.h"

namespace antichain::cuda {

namespace {

// As device/active_units.cuh has them.
constexpr std::int64_t kChoiceThreads = 256, kCountDigits = 256, kCountBits = 8, kMostDigits = 4;
constexpr std::int64_t kUnitsPerPart = 8 * kChoiceThreads, kMostUnitParts = 1024;
constexpr std::int64_t kBucketThreads = 32;
constexpr std::int64_t kTotalsBytes = 4 * (1 + kMostDigits * kCountDigits);

struct ChoiceSlot {
  enum : std::size_t {
    kUnits,
    kActive,
    kDrawn,
    kLeast,
    kExamples,
    kTables,
    kProbes,
    kNumStarts,
    kTableRows,
    kNumLabels,
    kParts,
    kEach,
    kNumDigits,
    kStride,
    kCodes,
    kStarts,
    kIds,
    kStep,
    kLabels,
    kRowStarts,
    kCounts,
    kTotals,
    kTies,
    kFrontTies,
    kInPart,
    kCommon,
    kCorrection,
    kSlots,
    kFound,
    kLabelSource,  // what is said of wrong labels, in words of the reference
    kEndsSource,
    kOrderSource,
    kRoomSource,
    kNote,
    kLevel,  // of digits alone
    kNumSlots
  };
};

// How often a unit is found at most.
std::int64_t most_found(const KernelContext& context) { return context.in(0).numel(); }

std::vector<std::int64_t> choice_slots(const KernelContext& context, const Context& device,
                                       const ActiveOptions& options) {
  const bool has_labels = context.num_inputs() > 4;
  std::vector<std::int64_t> slots(ChoiceSlot::kNumSlots);
  slots[ChoiceSlot::kUnits] = options.units;
  slots[ChoiceSlot::kActive] = options.active;
  slots[ChoiceSlot::kDrawn] = options.drawn;
  slots[ChoiceSlot::kLeast] =
      options.selection == Selection::threshold ? std::max<std::int64_t>(1, options.threshold) : 1;
  slots[ChoiceSlot::kExamples] = context.in(0).shape()[0];
  slots[ChoiceSlot::kTables] = context.in(0).shape()[1];
  slots[ChoiceSlot::kProbes] = context.in(0).shape()[2];
  slots[ChoiceSlot::kNumStarts] = context.in(1).shape()[1];
  slots[ChoiceSlot::kTableRows] = context.in(2).shape()[1];
  slots[ChoiceSlot::kNumLabels] = has_labels ? context.in(4).numel() : 0;
  const std::int64_t parts =
      std::clamp<std::int64_t>(divided_up(options.units, kUnitsPerPart), 1, kMostUnitParts);
  slots[ChoiceSlot::kParts] = parts;
  slots[ChoiceSlot::kEach] = divided_up(options.units, parts);
  slots[ChoiceSlot::kNumDigits] =
      std::max<std::int64_t>(1, divided_up(bits_for(most_found(context) + 1), kCountBits));
  slots[ChoiceSlot::kStride] = DrawnIds::stride(options.units);
  IndexReport& report = device->report();
  const std::string where(context.where);
  slots[ChoiceSlot::kLabelSource] = report.source_of(where);
  slots[ChoiceSlot::kEndsSource] =
      report.source_of(where, "row_starts must go from 0 to the number of elements, {}");
  slots[ChoiceSlot::kOrderSource] =
      report.source_of(where, "row_starts must not decrease, but {} follows {}");
  slots[ChoiceSlot::kRoomSource] =
      report.source_of(where, "{} units have to be active for their labels, there is room for {}");
  slots[ChoiceSlot::kNote] = reinterpret_cast<std::intptr_t>(report.device_address());
  return slots;
}

// The kernels in their order, with what they work in.
class SharedChoice {
 public:
  SharedChoice(const KernelContext& context, const Context& device)
      : counts_(
            DeviceContext::allocate_zeros(device, bytes_of(active_options(*context.attrs).units))),
        totals_(DeviceContext::allocate_zeros(device, kTotalsBytes)),
        parts_(DeviceContext::allocate_zeros(device, 3 * bytes_of(kMostUnitParts))) {
    const ActiveOptions options = active_options(*context.attrs);
    std::vector<std::int64_t> slots = choice_slots(context, device, options);
    has_labels_ = context.num_inputs() > 4;
    const auto set = [&](std::size_t slot, const void* address) {
      slots[slot] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(address));
    };
    auto* const parts = static_cast<std::int32_t*>(parts_->data());
    set(ChoiceSlot::kCounts, counts_->data());
    set(ChoiceSlot::kTotals, totals_->data());
    set(ChoiceSlot::kTies, parts);
    set(ChoiceSlot::kFrontTies, parts + kMostUnitParts);
    set(ChoiceSlot::kInPart, parts + 2 * kMostUnitParts);
    const std::string text = active_units_text(has_labels_ ? context.in(4).dtype() : i64,
                                               has_labels_ ? context.in(5).dtype() : i64);
    const auto add = [&](const char* name, std::int64_t blocks) {
      launches_.emplace_back(device, text, name, blocks,
                             dim3(static_cast<unsigned>(kChoiceThreads)), slots);
    };
    const auto add_threads = [&](const char* name, std::int64_t threads) {
      launches_.emplace_back(device, text, name, threads, slots);
    };
    const std::int64_t parts_of_units = slots[ChoiceSlot::kParts];
    add_threads("mark", std::max(slots[ChoiceSlot::kNumLabels], slots[ChoiceSlot::kExamples] + 1));
    add_threads("count", kBucketThreads * context.in(0).numel());
    for (std::int64_t level = 0; level < slots[ChoiceSlot::kNumDigits]; ++level) {
      slots[ChoiceSlot::kLevel] = level;
      add("digits", parts_of_units);
    }
    add("ties", parts_of_units);
    add("take", parts_of_units);
    add("draw_others", 1);
    add("write", parts_of_units);
    add_threads("place", std::max(slots[ChoiceSlot::kNumLabels], kMostDigits * kCountDigits));
  }

  void run(const KernelContext& run) {
    for (Launch& launch : launches_) {
      for (std::size_t i = 0; i < 4; ++i) {
        launch.set(ChoiceSlot::kCodes + i, run.in(static_cast<int>(i)).raw());
      }
      if (has_labels_) {
        launch.set(ChoiceSlot::kLabels, run.in(4).raw());
        launch.set(ChoiceSlot::kRowStarts, run.in(5).raw());
      }
      for (std::size_t i = 0; i < 4; ++i) {
        launch.set(ChoiceSlot::kCommon + i, run.out(static_cast<int>(i) + 2).raw());
      }
      launch.run();
    }
  }

 private:
  static std::size_t bytes_of(std::int64_t count) {
    return static_cast<std::size_t>(count) * sizeof(std::int32_t);
  }

  std::shared_ptr<Buffer> counts_, totals_, parts_;
  bool has_labels_ = false;
  std::vector<Launch> launches_;
};

}  // namespace

std::string active_units_text(DType labels, DType row_starts) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/active_units.cuh"
#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain;
using namespace antichain::device;
struct Arguments : ActiveArguments<{}, {}> {{
  long long label_source, ends_source, order_source, room_source;
  IndexNote* note;
}};
struct DigitArguments : Arguments {{
  long long level;
}};
extern "C" __global__ void mark(const Arguments a) {{
  if (a.row_starts != nullptr) {{
    for (long long row = first_of_all(); row < a.examples; row += all_of_grid()) {{
      if (a.row_starts[row + 1] < a.row_starts[row]) {{
        note_down(a.note, a.order_source, a.row_starts[row + 1], a.row_starts[row]);
      }}
    }}
    if (first_of_all() == 0 && (a.row_starts[0] != 0 || a.row_starts[a.examples] != a.num_labels)) {{
      note_down(a.note, a.ends_source, a.num_labels);
    }}
  }}
  mark_labels(a, [&](long long label) {{ return checked(label, a.units, a.note, a.label_source); }});
}}
extern "C" __global__ void count(const Arguments a) {{ count_found(a); }}
extern "C" __global__ void digits(const DigitArguments a) {{
  __shared__ ChoiceRoom room;
  count_digits(a, int(a.level), room);
}}
extern "C" __global__ void ties(const Arguments a) {{
  __shared__ ChoiceRoom room;
  count_ties(a, room);
}}
extern "C" __global__ void take(const Arguments a) {{
  __shared__ ChoiceRoom room;
  take_found(a, room);
}}
extern "C" __global__ void draw_others(const Arguments a) {{
  __shared__ ChoiceRoom room;
  draw(a, room, [&](long long labels) {{ note_down(a.note, a.room_source, labels, a.active); }});
}}
extern "C" __global__ void write(const Arguments a) {{
  __shared__ ChoiceRoom room;
  write_active(a, room);
}}
extern "C" __global__ void place(const Arguments a) {{ place_labels(a); }}
)",
                     storage_type(labels), storage_type(row_starts));
}

void register_active_units(KernelTable& kernels, const Context& device) {
  kernels.add(active_units_def(),
              {.name = "of the batch",
               .supports =
                   [](Op op) {
                     return op.attrs().get<bool>("shared") ? Support{}
                                                           : Support::no("of each example");
                   },
               .plan = [device](const KernelContext& context) -> KernelFunction {
                 return [choice = std::make_shared<SharedChoice>(context, device)](
                            KernelContext& run) { choice->run(run); };
               }});
}

}  // namespace antichain::cuda
