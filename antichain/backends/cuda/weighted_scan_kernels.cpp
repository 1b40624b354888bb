#include "antichain/backends/cuda/weighted_scan_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "antichain/backends/cuda/launch.h"
#include "antichain/backends/cuda/packed_input.h"
#include "antichain/backends/cuda/weighted_choice.h"

namespace antichain::cuda {

namespace {

constexpr int kWeights = 0, kInitial = 1, kFirstCoefficient = 2;  // inputs
constexpr int kFirstFactors = 2;                                  // outputs
constexpr std::int64_t kLongestChunk = std::int64_t{1} << 30;     // kernels count steps in 32 bits

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Slots of the arguments.
enum Slot : std::size_t {
  kSteps,
  kPlaces,
  kReverse,
  kChunk,
  kChunks,
  kWeightsAt,
  kBAt,
  kInitialAt,
  kBefore,
  kLast,
  kProducts,
  kCarried,
  kGroup,
  kGroups,
  kJoined,
  kEntered,
  kFactors  // of each weight; coefficients are behind them
};

class WeightedScanPlan {
 public:
  WeightedScanPlan(const KernelContext& context, const Context& device)
      : adds_(context.attr<bool>("adds")) {
    const WeightedForm form = WeightedForm::of(*context.attrs);
    for (int i = 0; i < context.num_inputs(); ++i) {
      inputs_.push_back(PackedInput::whole_aligned(device, context.in(i)));
    }
    const std::int64_t units = context.in(kWeights).shape()[1];
    const device::ScanLayout layout = scan_layout(form, units, adds_);
    const std::int64_t steps = context.out().shape()[0];
    const std::int64_t places = context.out(1).numel() / layout.state();
    const std::int64_t chunk = chunk_of(context, form, {steps, places, units, adds_});
    const std::int64_t chunks = divided_up(steps, chunk);
    const std::int64_t group = choose_group(layout, chunks);
    const std::int64_t groups = divided_up(chunks, group);
    std::vector<std::int64_t> slots = {steps, places, context.attr<bool>("reverse") ? 1 : 0, chunk,
                                       chunks};
    coefficients_at_ = kFactors + form.weight_to.size();
    slots.resize(coefficients_at_ + form.diagonals.size() + form.products.size());
    slots[kGroup] = group;
    slots[kGroups] = groups;
    const std::string text = weighted_scan_text(form, units, adds_);
    const auto launch = [&](const char* name, std::int64_t blocks, int threads, int floats) {
      return Launch(device, text, name, blocks, dim3(static_cast<unsigned>(threads)), slots,
                    static_cast<std::size_t>(floats) * sizeof(float));
    };
    const auto blocks_of = [](std::int64_t rows, int tiles, int warps) {
      return divided_up(rows, std::int64_t{tiles} * device::kTileRows * warps);
    };
    if (chunks > 1) {
      const std::int64_t walks = (chunks - 1) * places;
      const auto bytes_of = [](std::int64_t numbers) {
        return static_cast<std::size_t>(numbers) * sizeof(float);
      };
      // Rows are filled up to a multiple of four with numbers that are copied and not used.
      const auto allocate_products = [&](std::int64_t count) {
        return DeviceContext::allocate_zeros(device, bytes_of(count * layout.product_floats()));
      };
      const auto allocate_states = [&](std::int64_t count) {
        return DeviceContext::allocate(device, bytes_of(count * layout.state()));
      };
      products_ = allocate_products(walks);
      carried_ = allocate_states(chunks * places);
      launches_.push_back(
          launch("multiply_chunks",
                 blocks_of(walks * layout.columns(), layout.tiles(), device::kMultiplyWarps),
                 32 * device::kMultiplyWarps, layout.multiply_floats()));
      if (groups > 1) {
        joined_ = allocate_products((groups - 1) * places);
        entered_ = allocate_states(groups * places);
        launches_.push_back(launch("join_chunks", (groups - 1) * places, layout.join_threads(),
                                   layout.join_floats()));
        launches_.push_back(
            launch("walk_groups", places, layout.across_threads(), layout.across_floats()));
      }
      launches_.push_back(
          launch("walk_across", groups * places, layout.across_threads(), layout.across_floats()));
    }
    launches_.push_back(launch("walk_inside", blocks_of(chunks * places, 1, layout.inside_warps()),
                               32 * layout.inside_warps(), layout.inside_floats()));
  }

  void run(const KernelContext& context) {
    std::vector<const void*> addresses;
    for (int i = 0; i < context.num_inputs(); ++i) {
      addresses.push_back(inputs_[static_cast<std::size_t>(i)].address(context.in(i)));
    }
    const std::size_t end = addresses.size() - (adds_ ? 1 : 0);
    for (Launch& launch : launches_) {
      launch.set(kWeightsAt, addresses[kWeights]);
      launch.set(kBAt, adds_ ? addresses.back() : nullptr);
      launch.set(kInitialAt, addresses[kInitial]);
      launch.set(kBefore, address_of(context, 0));
      launch.set(kLast, context.out(1).raw());
      for (int i = kFirstFactors; i < static_cast<int>(context.outputs.size()); ++i) {
        launch.set(kFactors + static_cast<std::size_t>(i - kFirstFactors), address_of(context, i));
      }
      if (products_) {
        launch.set(kProducts, products_->data());
        launch.set(kCarried, carried_->data());
      }
      if (joined_) {
        launch.set(kJoined, joined_->data());
        launch.set(kEntered, entered_->data());
      }
      for (std::size_t i = kFirstCoefficient; i < end; ++i) {
        launch.set(coefficients_at_ + i - kFirstCoefficient, addresses[i]);
      }
      launch.run();
    }
  }

 private:
  // None for an output that nobody reads: it is not written.
  static const void* address_of(const KernelContext& context, int output) {
    return context.wanted.empty() || context.wanted[static_cast<std::size_t>(output)] != 0
               ? context.out(output).raw()
               : nullptr;
  }
  static std::int64_t chunk_of(const KernelContext& context, const WeightedForm& form,
                               const WeightedSizes& sizes) {
    const auto& algorithm = context.attr<std::string>("algorithm");
    const auto given = context.attr<std::int64_t>("chunk");
    const std::int64_t wanted = algorithm == kScanSerial ? sizes.steps
                                : given > 0              ? given
                                                         : choose_chunk(form, sizes);
    return std::min({wanted, sizes.steps, kLongestChunk});
  }

  bool adds_;
  std::size_t coefficients_at_ = 0;
  std::vector<PackedInput> inputs_;
  std::shared_ptr<Buffer> products_, carried_, joined_, entered_;
  std::vector<Launch> launches_;
};

KernelFunction plan(const KernelContext& context, const Context& device) {
  const Tensor &all = context.out(0), &last = context.out(1);
  if (last.numel() == 0) {
    return [](KernelContext&) {};
  }
  if (all.numel() == 0) {  // no step
    const auto initial =
        std::make_shared<PackedInput>(PackedInput::whole(device, context.in(kInitial)));
    return [device, initial](KernelContext& run) {
      device->copy(run.out(1).raw(), initial->address(run.in(kInitial)), run.out(1).bytes(),
                   cudaMemcpyDeviceToDevice);
    };
  }
  const auto planned = std::make_shared<WeightedScanPlan>(context, device);
  return [planned](KernelContext& run) { planned->run(run); };
}

Support supports(Op op) {
  const WeightedForm form = WeightedForm::of(op.attrs());
  const Dim units = op.input(kWeights).dim(1);
  if (op.input(kWeights).dtype() != f32) {
    return Support::no("its numbers are not f32");
  }
  return units.is_constant() && fits_weighted_scan(form, units.constant())
             ? Support{}
             : Support::no("its states do not fit into registers, or its weights not into memory");
}

// Numbers below 16 as device/weighted_scan.cuh reads them.
template <class Range, class F>
std::string packed(const Range& range, F number) {
  std::uint64_t all = 0;
  int shift = 0;
  for (const auto& entry : range) {
    all |= static_cast<std::uint64_t>(number(entry)) << shift;
    shift += 4;
  }
  return fmt::format("{:#x}ULL", all);
}

}  // namespace

constexpr const char* kJoiningKernels =
    R"(extern "C" __global__ void join_chunks(const ScanArguments<Form> a) { join_chunks(a, shared); }
extern "C" __global__ void walk_groups(const ScanArguments<Form> a) { walk_groups(a, shared); }
)";

std::string weighted_scan_text(const WeightedForm& form, std::int64_t units, bool adds) {
  const auto self = [](std::int64_t number) { return number; };
  return fmt::format(
      R"(#include "antichain/backends/cuda/device/tensor_core.cuh"
#include "antichain/backends/cuda/device/weighted_scan.cuh"
using namespace antichain::device;
struct Form {{
  static constexpr int units = {}, states = {}, weights = {}, diagonals = {}, products = {},
                       adds = {};
  static constexpr unsigned long long weight_to = {}, diagonal_to = {}, diagonal_from = {},
                                      product_weight = {}, product_from = {};
}};
extern __shared__ Four shared[];
extern "C" __global__ void __launch_bounds__(32 * kMultiplyWarps)
    multiply_chunks(const ScanArguments<Form> a) {{
  multiply_chunks(a, shared);
}}
{}extern "C" __global__ void walk_across(const ScanArguments<Form> a) {{ walk_across(a, shared); }}
extern "C" __global__ void __launch_bounds__(32 * ScanSizes<Form>::kLayout.inside_warps())
    walk_inside(const ScanArguments<Form> a) {{
  walk_inside(a, shared);
}}
)",
      units, form.states, form.weight_to.size(), form.diagonals.size(), form.products.size(),
      adds ? 1 : 0, packed(form.weight_to, self),
      packed(form.diagonals, [](auto d) { return d.to; }),
      packed(form.diagonals, [](auto d) { return d.from; }),
      packed(form.products, [](auto p) { return p.weight; }),
      packed(form.products, [](auto p) { return p.from; }),
      scan_layout(form, units, adds).joins() ? kJoiningKernels : "");
}

void register_weighted_scan(KernelTable& kernels, const Context& context) {
  kernels.add(weighted_scan_def(),
              {.name = "scan of weights",
               .supports = supports,
               .plan = [context](const KernelContext& seen) { return plan(seen, context); }});
}

}  // namespace antichain::cuda
