#include "antichain/backends/cuda/weighted_scan_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "antichain/backends/cuda/launch.h"
#include "antichain/backends/cuda/packed_input.h"

namespace antichain::cuda {

namespace {

constexpr int kWeights = 0, kB = 1, kInitial = 2, kFirstCoefficient = 3;
constexpr std::int64_t kMostStates = 2, kMostListed = 16;
constexpr std::int64_t kThreads = 128, kWarps = kThreads / 32;

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t up_to_four(std::int64_t count) { return divided_up(count, 4) * 4; }

// The numbers of device/weighted_scan.cuh that the host needs, too.
struct Layout {
  std::int64_t weights, inner, state, columns, rows, group, buffered;

  Layout(const WeightedForm& form, std::int64_t units)
      : weights(static_cast<std::int64_t>(form.weight_to.size())),
        inner(up_to_four(units)),
        state(form.states * units),
        columns(state + 1),
        rows(up_to_four(state)),
        group(state <= 32 ? divided_up(columns, 2) : columns),
        buffered(state <= 32 ? 8 : 4) {}

  std::int64_t product() const { return columns * rows + up_to_four(columns); }
};

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
  kExponents,
  kCarried,
  kCoefficients
};

class WeightedScanPlan {
 public:
  WeightedScanPlan(const KernelContext& context, const Context& device) {
    const WeightedForm form = WeightedForm::of(*context.attrs);
    for (int i = 0; i < context.num_inputs(); ++i) {
      inputs_.push_back(PackedInput::whole(device, context.in(i)));
    }
    const Shape& shape = context.out().shape();
    const std::int64_t units = context.in(kWeights).shape()[1];
    const Layout layout(form, units);
    const std::int64_t steps = shape[0], places = context.out(1).numel() / layout.state;
    const std::int64_t chunk = chunk_of(context, form, {steps, places, units});
    const std::int64_t chunks = divided_up(steps, chunk), walks = chunks * places;
    std::vector<std::int64_t> slots = {steps, places, context.attr<bool>("reverse") ? 1 : 0, chunk,
                                       chunks};
    slots.resize(kCoefficients + inputs_.size() - kFirstCoefficient);
    const std::string text = weighted_scan_text(form, units);
    const auto launch = [&](const char* name, std::int64_t blocks, std::int64_t shared_floats) {
      return Launch(device, text, name, blocks, dim3(kThreads), slots,
                    static_cast<std::size_t>(shared_floats) * sizeof(float));
    };
    if (chunks > 1) {
      const auto allocate = [&](std::int64_t numbers) {
        return DeviceContext::allocate(device, static_cast<std::size_t>(numbers) * sizeof(float));
      };
      products_ = allocate(walks * layout.columns * layout.rows);
      exponents_ = allocate(walks * layout.columns);
      carried_ = allocate(walks * layout.state);
      launches_.push_back(launch("multiply_chunks", divided_up(walks * layout.group, kThreads),
                                 layout.weights * units * layout.inner));
      launches_.push_back(
          launch("walk_across", places, 2 * layout.buffered * layout.product() + layout.rows));
    }
    launches_.push_back(launch("walk_inside", divided_up(walks, kWarps),
                               kWarps * 2 * layout.weights * layout.inner));
  }

  void run(const KernelContext& context) {
    std::vector<const void*> addresses;
    for (int i = 0; i < context.num_inputs(); ++i) {
      addresses.push_back(inputs_[static_cast<std::size_t>(i)].address(context.in(i)));
    }
    for (Launch& launch : launches_) {
      launch.set(kWeightsAt, addresses[kWeights]);
      launch.set(kBAt, addresses[kB]);
      launch.set(kInitialAt, addresses[kInitial]);
      launch.set(kBefore, context.out(0).raw());
      launch.set(kLast, context.out(1).raw());
      if (products_) {
        launch.set(kProducts, products_->data());
        launch.set(kExponents, exponents_->data());
        launch.set(kCarried, carried_->data());
      }
      for (std::size_t i = kFirstCoefficient; i < addresses.size(); ++i) {
        launch.set(kCoefficients + i - kFirstCoefficient, addresses[i]);
      }
      launch.run();
    }
  }

 private:
  static std::int64_t chunk_of(const KernelContext& context, const WeightedForm& form,
                               const WeightedSizes& sizes) {
    const auto& algorithm = context.attr<std::string>("algorithm");
    const auto given = context.attr<std::int64_t>("chunk");
    if (algorithm == kScanSerial) {
      return sizes.steps;
    }
    return std::min(sizes.steps, given > 0 ? given : choose_chunk(form, sizes));
  }

  std::vector<PackedInput> inputs_;
  std::shared_ptr<Buffer> products_, exponents_, carried_;
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
  if (!units.is_constant() || units.constant() > kMostWeightedUnits || units.constant() == 0) {
    return Support::no("a warp walks along parts of 1 to 32 units");
  }
  const auto most = static_cast<std::size_t>(kMostListed);
  if (form.states > kMostStates || form.weight_to.empty() || form.weight_to.size() > 4 ||
      form.diagonals.size() > most || form.products.size() > most) {
    return Support::no("it has more parts or weights than fit into registers");
  }
  return {};
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

// By estimates of what bounds each phase: multiply-adds of all products, or of the product of one
// chunk where there are few; chunk after chunk; step after step inside of a chunk. Round numbers:
// a step and all products are as measured, the times of a multiply-add and of a chunk are not yet
// those of the kernels as they are (benchmarks/gpu/run_scan measures them).
std::int64_t choose_chunk(const WeightedForm& form, const WeightedSizes& sizes) {
  constexpr double kMultiplyAddsPerSecond = 1.5e13, kSecondsOfMultiplyAdd = 1.5e-9;
  constexpr double kSecondsOfChunk = 0.2e-6, kSecondsOfStep = 60e-9, kSecondsOfWeight = 25e-9;
  constexpr double kSecondsOfPhases = 8e-6;
  const Layout layout(form, sizes.units);
  const auto steps = static_cast<double>(sizes.steps), places = static_cast<double>(sizes.places);
  const auto of_column =
      static_cast<double>(layout.weights * sizes.units * sizes.units);  // multiply-adds per step
  const std::int64_t together = layout.columns / layout.group;  // columns of a thread, or fewer
  const double of_thread = of_column * static_cast<double>(together);
  const double step = kSecondsOfStep + kSecondsOfWeight * static_cast<double>(layout.weights);
  const double products =
      steps * places * of_column * static_cast<double>(layout.columns) / kMultiplyAddsPerSecond;
  double best = steps * step;
  std::int64_t chosen = sizes.steps;
  for (std::int64_t chunk = 8; chunk <= 512 && chunk < sizes.steps; chunk *= 2) {
    const auto length = static_cast<double>(chunk);
    const double seconds = kSecondsOfPhases +
                           std::max(products, length * of_thread * kSecondsOfMultiplyAdd) +
                           steps / length * kSecondsOfChunk + length * step;
    if (seconds < best) {
      best = seconds;
      chosen = chunk;
    }
  }
  return chosen;
}

std::string weighted_scan_text(const WeightedForm& form, std::int64_t units) {
  const auto self = [](std::int64_t number) { return number; };
  return fmt::format(
      R"(#include "antichain/backends/cuda/device/tensor_core.cuh"
#include "antichain/backends/cuda/device/weighted_scan.cuh"
using namespace antichain::device;
struct Form {{
  static constexpr int units = {}, states = {}, weights = {}, diagonals = {}, products = {};
  static constexpr unsigned long long weight_to = {}, diagonal_to = {}, diagonal_from = {},
                                      product_weight = {}, product_from = {};
}};
extern __shared__ Four shared[];
extern "C" __global__ void __launch_bounds__({}) multiply_chunks(const ScanArguments<Form> a) {{
  multiply_chunks(a, shared);
}}
extern "C" __global__ void walk_across(const ScanArguments<Form> a) {{ walk_across(a, shared); }}
extern "C" __global__ void walk_inside(const ScanArguments<Form> a) {{ walk_inside(a, shared); }}
)",
      units, form.states, form.weight_to.size(), form.diagonals.size(), form.products.size(),
      packed(form.weight_to, self), packed(form.diagonals, [](auto d) { return d.to; }),
      packed(form.diagonals, [](auto d) { return d.from; }),
      packed(form.products, [](auto p) { return p.weight; }),
      packed(form.products, [](auto p) { return p.from; }), kThreads);
}

void register_weighted_scan(KernelTable& kernels, const Context& context) {
  kernels.add(weighted_scan_def(),
              {.name = "scan of weights",
               .supports = supports,
               .plan = [context](const KernelContext& seen) { return plan(seen, context); }});
}

}  // namespace antichain::cuda
