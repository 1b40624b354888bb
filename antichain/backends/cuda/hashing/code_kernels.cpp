// hash_queries, hash_data, rehash_rows: see device/hash_codes.cuh.
#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/elementwise/element_code.h"
#include "antichain/backends/cuda/hashing/hashing_kernels.h"
#include "antichain/ops/hashing/hash_codes.h"
#include "antichain/ops/state/row_updates.h"

namespace antichain::cuda {

namespace {

// As device/hash_codes.cuh has them.
constexpr std::int64_t kHashThreads = 256, kVectorsPerTile = 32, kFunctionsPerTile = 64;
constexpr std::int64_t kHashBlocksPerMultiprocessor = 8;
static_assert(static_cast<int>(HashFamily::simhash) == 0 &&
              static_cast<int>(HashFamily::dwta) == 2 &&
              static_cast<int>(HashTransform::powers) == 2);

struct HashSlot {
  enum : std::size_t {
    kFeatures,
    kCoordinates,
    kTables,
    kPieces,
    kProbes,
    kCount,
    kRange,
    kVectors,
    kExtra,
    kFunctions,
    kLargest,
    kCodes,
    kDue,
    kAll,
    kMarks,
    kNumSlots
  };
};
struct MarkSlot {
  enum : std::size_t { kCount, kRows, kSource, kNote, kUsed, kMarks };
};

std::vector<std::int64_t> hash_slots(const HashSpec& spec, std::int64_t probes,
                                     std::int64_t count) {
  std::vector<std::int64_t> slots(HashSlot::kNumSlots);
  slots[HashSlot::kFeatures] = spec.features;
  slots[HashSlot::kCoordinates] = spec.coordinates();
  slots[HashSlot::kTables] = spec.tables;
  slots[HashSlot::kPieces] = spec.pieces;
  slots[HashSlot::kProbes] = probes;
  slots[HashSlot::kCount] = count;
  slots[HashSlot::kRange] = spec.folds() ? spec.range : 0;
  return slots;
}

std::shared_ptr<Launch> make_hash(const KernelContext& context, const Context& device,
                                  const char* name, std::int64_t probes, std::int64_t tasks) {
  const HashSpec spec = HashSpec::of(*context.attrs);
  const std::int64_t most = kHashBlocksPerMultiprocessor * device->num_multiprocessors();
  return std::make_shared<Launch>(
      device, hash_codes_text(context.in(0).dtype(), spec.family, spec.transform), name,
      std::min(tasks, most), dim3(static_cast<unsigned>(kHashThreads)),
      hash_slots(spec, probes, context.in(0).shape()[0]));
}

KernelFunction plan_hash_queries(const KernelContext& context, const Context& device) {
  const HashSpec spec = HashSpec::of(*context.attrs);
  const std::int64_t tiles = divided_up(context.in(0).shape()[0], kVectorsPerTile);
  const std::int64_t groups = divided_up(spec.tables, kFunctionsPerTile / spec.pieces);
  const auto launch = make_hash(context, device, "hash_vectors",
                                context.attr<std::int64_t>("probes"), tiles * groups);
  return [launch](KernelContext& run) {
    launch->set(HashSlot::kVectors, run.in(0).raw());
    launch->set(HashSlot::kFunctions, run.in(1).raw());
    launch->set(HashSlot::kLargest, run.in(2).raw());
    launch->set(HashSlot::kCodes, run.out().raw());
    launch->run();
  };
}

void set_data(Launch& launch, const KernelContext& run, const void* codes) {
  launch.set(HashSlot::kVectors, run.in(0).raw());
  launch.set(HashSlot::kExtra, run.in(1).raw());
  launch.set(HashSlot::kFunctions, run.in(2).raw());
  launch.set(HashSlot::kLargest, run.in(3).raw());
  launch.set(HashSlot::kCodes, codes);
}

std::shared_ptr<Launch> make_hash_of_rows(const KernelContext& context, const Context& device) {
  return make_hash(context, device, "hash_rows", 1,
                   divided_up(context.in(0).shape()[0], kHashThreads));
}

KernelFunction plan_hash_data(const KernelContext& context, const Context& device) {
  const auto launch = make_hash_of_rows(context, device);
  return [launch](KernelContext& run) {
    set_data(*launch, run, run.out().raw());
    launch->run();
  };
}

KernelFunction plan_rehash_rows(const KernelContext& context, const Context& device) {
  const HashSpec spec = HashSpec::of(*context.attrs);
  const std::vector<std::string> states = updated_states(*context.attrs)[0];
  const auto hash = make_hash_of_rows(context, device);
  const std::int64_t used = context.in(4).numel(), rows = context.in(0).shape()[0];
  const auto note = reinterpret_cast<std::intptr_t>(device->report().device_address());
  const auto mark = std::make_shared<Launch>(
      device, hash_codes_text(context.in(0).dtype(), spec.family, spec.transform), "mark_used",
      used,
      std::vector<std::int64_t>{used, rows, device->report().source_of(std::string(context.where)),
                                note, 0, 0});
  return [hash, mark, states](KernelContext& run) {
    const UpdatedMemory memory = modified_memory(*run.states, states, *run.device);
    mark->set(MarkSlot::kUsed, run.in(4).raw());
    mark->set(MarkSlot::kMarks, memory.after[1]);
    mark->run();
    set_data(*hash, run, memory.after[0]);
    hash->set(HashSlot::kDue, run.in(5).raw());
    hash->set(HashSlot::kAll, run.in(6).raw());
    hash->set(HashSlot::kMarks, memory.after[1]);
    hash->run();
    run.out() = run.states->get(states[0], *run.device);
  };
}

Support has_hash_kernel(Op op) {
  const HashSpec spec = HashSpec::of(op.attrs());
  return spec.family == HashFamily::minhash
             ? Support::no("largest coordinates are looked for on the host")
         : spec.folds() ? Support::no("codes are folded on the host")
                        : Support{};
}

}  // namespace

std::string hash_codes_text(DType dtype, HashFamily family, HashTransform transform) {
  return fmt::format(R"(#include "antichain/backends/cuda/device/element.cuh"
#include "antichain/backends/cuda/device/hash_codes.cuh"
#include "antichain/backends/cuda/device/index.cuh"
using namespace antichain;
using namespace antichain::device;
using Arguments = HashArguments<{0}>;
extern "C" __global__ void hash_vectors(const Arguments a) {{
  __shared__ HashRoom room;
  hash_queries<{1}, {2}>(a, room);
}}
extern "C" __global__ void hash_rows(const Arguments a) {{
  __shared__ HashRoom room;
  hash_data<{1}, {2}>(a, room);
}}
struct Used {{
  long long count, rows, source;
  IndexNote* note;
  const long long* used;
  bool* marks;
}};
extern "C" __global__ void mark_used(const Used a) {{
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < a.count; k += step) {{
    a.marks[checked(a.used[k], a.rows, a.note, a.source)] = true;
  }}
}}
)",
                     storage_type(dtype), static_cast<int>(family), static_cast<int>(transform));
}

void register_hash_codes(KernelTable& kernels, const Context& device) {
  const auto add = [&](const OpDef& def, auto plan) {
    kernels.add(def, {.name = "tiles of vectors and functions",
                      .supports = has_hash_kernel,
                      .plan = [device, plan](const KernelContext& context) {
                        return plan(context, device);
                      }});
  };
  add(hash_queries_def(), plan_hash_queries);
  add(hash_data_def(), plan_hash_data);
  add(rehash_rows_def(), plan_rehash_rows);
}

}  // namespace antichain::cuda
