#include "antichain/backends/cpu/elementwise.h"

#include <functional>
#include <memory>

#include "antichain/backends/cpu/elementwise_plan.h"
#include "antichain/backends/cpu/simd/loops.h"
#include "antichain/ops/elementwise.h"

namespace antichain::cpu {

namespace {

// The loop for inputs and output of these types, or nullptr.
using FindLoop = std::function<ElementLoop(std::span<const DType> inputs, DType output)>;
using GetConstants = std::function<std::vector<double>(const KernelContext&)>;

void add_kernel(KernelTable& kernels, SimdLevel level, const OpDef& def, int num_inputs,
                const FindLoop& find, const GetConstants& constants = nullptr) {
  const auto supports = [level, find](Op op) {
    if (Support support = cpu_supports(level); !support.yes) {
      return support;
    }
    std::vector<DType> dtypes;
    for (const Var& input : op.inputs()) {
      dtypes.push_back(input.dtype());
    }
    if (!find(dtypes, op.output().dtype())) {
      return Support::no("no loop for " + std::string(name(dtypes.front())));
    }
    return op.output().shape().size() <= ElementwisePlan::kMaxAxes
               ? Support{}
               : Support::no("more than " + std::to_string(ElementwisePlan::kMaxAxes) + " axes");
  };
  const auto plan = [num_inputs, find, constants](const KernelContext& context) -> KernelFunction {
    std::vector<DType> dtypes;
    for (int i = 0; i < num_inputs; ++i) {
      dtypes.push_back(context.in(i).dtype());
    }
    const auto planned = std::make_shared<const ElementwisePlan>(
        context, num_inputs, find(dtypes, context.out().dtype()),
        constants ? constants(context) : std::vector<double>());
    return [planned](KernelContext& running) { planned->run(running); };
  };
  kernels.add(def, {.name = std::string(name(level)) + " elementwise",
                    .supports = supports,
                    .plan = plan,
                    .strided_inputs = true,
                    .in_place = true});
}

void add_rows(KernelTable& kernels, SimdLevel level, const std::vector<const OpDef*>& family,
              int num_inputs, const LoopTable& table) {
  for (const OpDef* def : family) {
    if (const LoopRow* row = table.find(def->name)) {
      add_kernel(kernels, level, *def, num_inputs, [row](std::span<const DType> inputs, DType) {
        return row->loops[static_cast<int>(inputs[0])];
      });
    }
  }
}

}  // namespace

void register_elementwise(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    add_rows(kernels, kLevel, elementwise_unary_family(), 1, unary_loops<kLevel>());
    add_rows(kernels, kLevel, elementwise_binary_family(), 2, binary_loops<kLevel>());
    add_rows(kernels, kLevel, elementwise_gradient_family(), 2, binary_loops<kLevel>());
    add_kernel(kernels, kLevel, select_def(), 3,
               [](std::span<const DType>, DType output) { return select_loop<kLevel>(output); });
    add_kernel(kernels, kLevel, cast_def(), 1, [](std::span<const DType> inputs, DType output) {
      return cast_loop<kLevel>(inputs[0], output);
    });
    add_kernel(
        kernels, kLevel, clip_def(), 1,
        [](std::span<const DType> inputs, DType) { return clip_loop<kLevel>(inputs[0]); },
        [](const KernelContext& context) {
          return std::vector<double>{context.attr<double>("low"), context.attr<double>("high")};
        });
  });
}

}  // namespace antichain::cpu
