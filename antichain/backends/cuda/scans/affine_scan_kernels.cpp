#include "antichain/backends/cuda/scans/affine_scan_kernels.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "antichain/backends/cuda/core/grid_sizes.h"
#include "antichain/backends/cuda/core/launch.h"
#include "antichain/backends/cuda/core/packed_input.h"
#include "antichain/backends/cuda/device/affine_sizes.cuh"
#include "antichain/backends/cuda/scans/affine_scan_text.h"
#include "antichain/backends/cuda/scans/scan_choice.h"
#include "antichain/ops/scans/affine_scan.h"

namespace antichain::cuda {

namespace {

constexpr int kScanA = 0, kScanB = 1, kScanInitial = 2;  // inputs

// A scan at its sizes, cut into chunks: what the plans of all kinds start from.
struct CutScan {
  AffineSizes sizes;
  bool reverse, transposed;
  std::int64_t chunk, chunks;

  explicit CutScan(const KernelContext& context)
      : sizes(AffineSizes::of(context.in(kScanA).shape(), context.in(kScanB).shape(),
                              context.in(kScanB).dtype())),
        reverse(context.attr<bool>("reverse")),
        transposed(context.attr<bool>("transposed")),
        chunk(choose_affine_scan(sizes, ScanRequest::of(*context.attrs)).chunk),
        chunks(divided_up(sizes.steps, chunk)) {}

  std::int64_t walks() const { return chunks * sizes.places; }
  std::int64_t products() const { return (chunks - 1) * sizes.places; }
  // The slots of device::Chunks.
  std::vector<std::int64_t> slots() const {
    return {sizes.steps, sizes.places, reverse ? 1 : 0, chunk, chunks};
  }
};

// Launches with the same arguments, and the memory that some of these point to.
class ScanLaunches {
 public:
  ScanLaunches(Context device, std::string text, std::vector<std::int64_t> slots)
      : device_(std::move(device)), text_(std::move(text)), slots_(std::move(slots)) {}

  /// Adds an argument; returns its slot.
  std::size_t add_slot(std::int64_t value = 0) {
    slots_.push_back(value);
    return slots_.size() - 1;
  }
  /// Adds the address of memory for so many numbers as an argument.
  std::size_t add_memory(std::int64_t numbers, std::size_t bytes_each) {
    // Matrices are copied in pieces of 16 bytes, and may end within one.
    memory_.push_back(
        DeviceContext::allocate_zeros(device_, static_cast<std::size_t>(numbers) * bytes_each));
    return add_slot(
        static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(memory_.back()->data())));
  }
  /// Adds a launch, once all arguments are there; returns its number.
  std::size_t add(const char* name, std::int64_t blocks, int threads, std::int64_t shared_bytes) {
    launches_.emplace_back(device_, text_, name, blocks, dim3(static_cast<unsigned>(threads)),
                           slots_, static_cast<std::size_t>(shared_bytes));
    return launches_.size() - 1;
  }
  template <class Value>
  void set(std::size_t slot, Value value) {
    for (Launch& launch : launches_) {
      launch.set(slot, value);
    }
  }
  Launch& operator[](std::size_t launch) { return launches_[launch]; }
  std::int64_t value(std::size_t slot) const { return slots_[slot]; }
  void run() {
    for (Launch& launch : launches_) {
      launch.run();
    }
  }

 private:
  Context device_;
  std::string text_;
  std::vector<std::int64_t> slots_;
  std::vector<std::shared_ptr<Buffer>> memory_;
  std::vector<Launch> launches_;
};

// The slots of inputs and outputs, side by side in all kinds of arguments.
class ScanOperands {
 public:
  ScanOperands(const KernelContext& context, const Context& device) {
    for (const int input : {kScanA, kScanB, kScanInitial}) {
      inputs_.push_back(PackedInput::whole(device, context.in(input)));
    }
  }

  void add_slots(ScanLaunches& launches) {
    first_ = launches.add_slot();
    for (int i = 1; i < 5; ++i) {
      launches.add_slot();
    }
  }
  /// Sets them for a run; returns where a is.
  const void* set(ScanLaunches& launches, const KernelContext& run) {
    const void* a = nullptr;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const void* const address = inputs_[i].address(run.in(static_cast<int>(i)));
      launches.set(first_ + i, address);
      a = i == kScanA ? address : a;
    }
    launches.set(first_ + inputs_.size(), run.out(0).raw());
    launches.set(first_ + inputs_.size() + 1, run.out(1).raw());
    return a;
  }

 private:
  std::vector<PackedInput> inputs_;
  std::size_t first_ = 0;
};

class ScanPlan {
 public:
  virtual ~ScanPlan() = default;
  virtual void run(const KernelContext& context) = 0;
};

class ColumnPlan final : public ScanPlan {
 public:
  ColumnPlan(const KernelContext& context, const Context& device, const CutScan& cut)
      : operands_(context, device),
        launches_(device, column_scan_text(cut.sizes.dtype), cut.slots()) {
    const std::size_t bytes = size_of(cut.sizes.dtype);
    operands_.add_slots(launches_);
    launches_.add_memory(cut.products(), bytes);        // factors
    launches_.add_memory(cut.products(), bytes);        // added
    launches_.add_memory(cut.products(), sizeof(int));  // exponents
    launches_.add_memory(cut.chunks > 1 ? cut.walks() : 0, bytes);
    const auto add = [&](const char* name, std::int64_t threads) {
      launches_.add(name, divided_up(threads, device::kScanThreads), device::kScanThreads, 0);
    };
    if (cut.chunks > 1) {
      add("multiply", cut.products());
      add("across", cut.sizes.places);
    }
    add("inside", cut.walks());
  }

  void run(const KernelContext& context) override {
    operands_.set(launches_, context);
    launches_.run();
  }

 private:
  ScanOperands operands_;
  ScanLaunches launches_;
};

class NarrowPlan final : public ScanPlan {
 public:
  NarrowPlan(const KernelContext& context, const Context& device, const CutScan& cut)
      : operands_(context, device),
        launches_(device, narrow_scan_text(cut.sizes.dtype, cut.sizes.size, cut.transposed),
                  cut.slots()) {
    const std::size_t bytes = size_of(cut.sizes.dtype);
    const device::NarrowSizes sizes{static_cast<int>(cut.sizes.size), static_cast<int>(bytes)};
    aligned_ = launches_.add_slot();
    operands_.add_slots(launches_);
    launches_.add_memory(cut.products() * sizes.record(), 16);
    launches_.add_memory(cut.chunks > 1 ? cut.walks() * cut.sizes.size : 0, bytes);
    const auto add = [&](const char* name, std::int64_t count, int lanes, int shared_bytes) {
      launches_.add(name, divided_up(count * lanes, device::kScanThreads), device::kScanThreads,
                    shared_bytes);
    };
    if (cut.chunks > 1) {
      add("multiply", cut.products(), sizes.product_lanes(), sizes.product_shared_bytes());
      add("across", cut.sizes.places, sizes.walk_lanes(), sizes.walk_shared_bytes());
    }
    add("inside", cut.walks(), sizes.walk_lanes(), sizes.walk_shared_bytes());
  }

  void run(const KernelContext& context) override {
    const void* const a = operands_.set(launches_, context);
    launches_.set(aligned_, std::int64_t{reinterpret_cast<std::uintptr_t>(a) % 16 == 0});
    launches_.run();
  }

 private:
  ScanOperands operands_;
  ScanLaunches launches_;
  std::size_t aligned_ = 0;
};

class WidePlan final : public ScanPlan {
 public:
  WidePlan(const KernelContext& context, const Context& device, const CutScan& cut)
      : operands_(context, device),
        launches_(device, wide_scan_text(cut.sizes.dtype, cut.transposed), cut.slots()),
        chunk_(cut.chunk),
        is_cut_(cut.chunks > 1) {
    const std::int64_t size = cut.sizes.size, products = cut.products();
    const std::size_t bytes = size_of(cut.sizes.dtype);
    launches_.add_slot(size);
    step_ = launches_.add_slot();
    operands_.add_slots(launches_);
    product_ = launches_.add_memory(products * size * size, bytes);
    next_ = launches_.add_memory(products * size * size, bytes);
    launches_.add_memory(products * size, bytes);                        // added
    launches_.add_memory(products, sizeof(int));                         // exponents
    launches_.add_memory(is_cut_ ? products * chunk_ : 0, sizeof(int));  // of the largest
    launches_.add_memory(is_cut_ ? cut.walks() * size : 0, bytes);
    const auto shared = [&](std::int64_t numbers) {
      return numbers * static_cast<std::int64_t>(bytes);
    };
    const std::int64_t tiles = divided_up(size, device::kTile);
    const std::int64_t plain = shared(device::wide_walk_numbers(static_cast<int>(size), false)),
                       walk = shared(
                           device::wide_walk_numbers(static_cast<int>(size), cut.transposed));
    if (is_cut_) {
      begin_ = launches_.add("begin", divided_up(products * size * size, device::kWideThreads),
                             device::kWideThreads, 0);
      multiply_ = launches_.add("multiply", products * tiles * tiles, device::kWideThreads,
                                shared(device::kTileNumbers));
      from_zeros_ = launches_.add("from_zeros", products, device::kWideThreads, walk);
      across_ = launches_.add("across", cut.sizes.places, device::kWideThreads, plain);
    }
    inside_ = launches_.add("inside", cut.walks(), device::kWideThreads, walk);
  }

  void run(const KernelContext& context) override {
    operands_.set(launches_, context);
    if (is_cut_) {
      // Products are written to `next`; the two places change with every step.
      std::int64_t product = launches_.value(product_), next = launches_.value(next_);
      const auto set_places = [&](Launch& launch) {
        launch.set(product_, product);
        launch.set(next_, next);
      };
      set_places(launches_[begin_]);
      launches_[begin_].run();
      Launch& multiply = launches_[multiply_];
      for (std::int64_t step = 1; step < chunk_; ++step) {
        std::swap(product, next);
        set_places(multiply);
        multiply.set(step_, step);
        multiply.run();
      }
      launches_[from_zeros_].run();
      launches_[across_].set(product_, next);
      launches_[across_].run();
    }
    launches_[inside_].run();
  }

 private:
  ScanOperands operands_;
  ScanLaunches launches_;
  std::int64_t chunk_;
  bool is_cut_;
  std::size_t step_ = 0, product_ = 0, next_ = 0;
  std::size_t begin_ = 0, multiply_ = 0, from_zeros_ = 0, across_ = 0, inside_ = 0;
};

KernelFunction plan_affine_scan(const KernelContext& context, const Context& device) {
  if (context.out(1).numel() == 0) {
    return [](KernelContext&) {};
  }
  if (context.out(0).numel() == 0) {  // no step
    const auto initial =
        std::make_shared<PackedInput>(PackedInput::whole(device, context.in(kScanInitial)));
    return [device, initial](KernelContext& run) {
      device->copy(run.out(1).raw(), initial->address(run.in(kScanInitial)), run.out(1).bytes(),
                   cudaMemcpyDeviceToDevice);
    };
  }
  const CutScan cut(context);
  std::shared_ptr<ScanPlan> planned;
  if (!cut.sizes.matrices) {
    planned = std::make_shared<ColumnPlan>(context, device, cut);
  } else if (cut.sizes.size <= device::kMostNarrow) {
    planned = std::make_shared<NarrowPlan>(context, device, cut);
  } else {
    planned = std::make_shared<WidePlan>(context, device, cut);
  }
  return [planned](KernelContext& run) { planned->run(run); };
}

Support supports_affine_scan(Op op) {
  const DType dtype = op.input(kScanB).dtype();
  if (dtype != f32 && dtype != f64) {
    return Support::no("its numbers are neither f32 nor f64");
  }
  const auto& algorithm = op.attrs().get<std::string>("algorithm");
  if (!algorithm.empty() && algorithm != kScanSerial && algorithm != kScanChunked) {
    return Support::no("a GPU scans step by step or in chunks");
  }
  // What a block that walks with a large state shares must fit.
  constexpr std::int64_t kMostWide = 1024;
  const Dim size = has_matrices(op) ? op.input(kScanB).dim(-1) : Dim(1);
  return size.is_constant() && size.constant() <= kMostWide
             ? Support{}
             : Support::no(
                   fmt::format("its matrices may have more than {0} x {0} numbers", kMostWide));
}

}  // namespace

void register_affine_scan(KernelTable& kernels, const Context& context) {
  kernels.add(affine_scan_def(), {.name = "scan in chunks",
                                  .supports = supports_affine_scan,
                                  .plan = [context](const KernelContext& seen) {
                                    return plan_affine_scan(seen, context);
                                  }});
}

}  // namespace antichain::cuda
