#include "antichain/backends/cuda/scans/weighted_scan_kernels.h"

#include <fmt/format.h>

#include <memory>

#include "antichain/backends/cuda/core/packed_input.h"
#include "antichain/backends/cuda/scans/weighted_launches.h"
#include "antichain/backends/cuda/scans/weighted_tuning.h"

namespace antichain::cuda {

namespace {

constexpr int kWeights = 0, kWeightedInitial = 1, kFirstCoefficient = 2;  // inputs
constexpr int kFirstFactors = 2;                                          // outputs

class WeightedScanPlan {
 public:
  WeightedScanPlan(const KernelContext& context, const Context& device)
      : adds_(context.attr<bool>("adds")), launches_(make_launches(context, device)) {
    for (int i = 0; i < context.num_inputs(); ++i) {
      inputs_.push_back(PackedInput::whole_aligned(device, context.in(i)));
    }
  }

  void run(const KernelContext& context) {
    std::vector<const void*> addresses;
    for (int i = 0; i < context.num_inputs(); ++i) {
      addresses.push_back(inputs_[static_cast<std::size_t>(i)].address(context.in(i)));
    }
    WeightedAddresses at{
        .weights = addresses[kWeights],
        .initial = addresses[kWeightedInitial],
        .b = adds_ ? addresses.back() : nullptr,
        .coefficients = {addresses.begin() + kFirstCoefficient, addresses.end() - (adds_ ? 1 : 0)},
        .before = address_of(context, 0),
        .last = context.out(1).raw(),
        .factors = {}};
    for (int i = kFirstFactors; i < static_cast<int>(context.outputs.size()); ++i) {
      at.factors.push_back(address_of(context, i));
    }
    launches_.run(at);
  }

 private:
  // None for an output that nobody reads: it is not written.
  static const void* address_of(const KernelContext& context, int output) {
    return context.wanted.empty() || context.wanted[static_cast<std::size_t>(output)] != 0
               ? context.out(output).raw()
               : nullptr;
  }
  static WeightedLaunches make_launches(const KernelContext& context, const Context& device) {
    const WeightedForm form = WeightedForm::of(*context.attrs);
    const std::int64_t units = context.in(kWeights).shape()[1];
    const WeightedSizes sizes{context.out().shape()[0],
                              context.out(1).numel() / (form.states * units), units,
                              context.attr<bool>("adds")};
    const auto given = context.attr<std::int64_t>("chunk");
    const bool serial = context.attr<std::string>("algorithm") == kScanSerial;
    const std::int64_t chunk = serial      ? sizes.steps
                               : given > 0 ? given
                                           : tuned_chunk(device, form, sizes);
    return {device, form, sizes, context.attr<bool>("reverse"), chunk};
  }

  bool adds_;
  std::vector<PackedInput> inputs_;
  WeightedLaunches launches_;
};

KernelFunction plan_weighted_scan(const KernelContext& context, const Context& device) {
  const Tensor &all = context.out(0), &last = context.out(1);
  if (last.numel() == 0) {
    return [](KernelContext&) {};
  }
  if (all.numel() == 0) {  // no step
    const auto initial =
        std::make_shared<PackedInput>(PackedInput::whole(device, context.in(kWeightedInitial)));
    return [device, initial](KernelContext& run) {
      device->copy(run.out(1).raw(), initial->address(run.in(kWeightedInitial)), run.out(1).bytes(),
                   cudaMemcpyDeviceToDevice);
    };
  }
  const auto planned = std::make_shared<WeightedScanPlan>(context, device);
  return [planned](KernelContext& run) { planned->run(run); };
}

Support supports_weighted_scan(Op op) {
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
  kernels.add(weighted_scan_def(), {.name = "scan of weights",
                                    .supports = supports_weighted_scan,
                                    .plan = [context](const KernelContext& seen) {
                                      return plan_weighted_scan(seen, context);
                                    }});
}

}  // namespace antichain::cuda
