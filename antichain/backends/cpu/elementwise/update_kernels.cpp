#include "antichain/backends/cpu/elementwise/update_kernels.h"

#include "antichain/backends/cpu/simd/update_loops.h"
#include "antichain/backends/cpu/threads/parallel.h"
#include "antichain/ops/state/update_ops.h"

namespace antichain::cpu {

namespace {

KernelFunction step_by(UpdateLoop loop, const std::vector<std::vector<std::string>>& states) {
  return [loop, states](KernelContext& context) {
    const bool now = context.in(context.num_inputs() - 1).item<bool>();
    const double* const numbers = context.in(context.num_inputs() - 2).data<double>();
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (!now) {
        *context.outputs[i] = context.states->get(states[i][0], *context.device);
        continue;
      }
      const Tensor& gradient = *context.inputs[i];
      const auto change = [&](const UpdatedMemory& memory) {
        parallel_ranges(
            gradient.numel(), kElementGrain, [&](std::int64_t first, std::int64_t last) {
              loop(memory.before.data(), memory.after.data(), gradient.raw(), numbers, first, last);
            });
      };
      *context.outputs[i] = change_states(*context.states, states[i], change);
    }
  };
}

}  // namespace

void register_optimiser_steps(KernelTable& kernels) {
  for_each_simd_level([&kernels]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    for (const OpDef* def : update_family()) {
      const UpdateRow* const row = update_loops<kLevel>().find(def->name);
      ensure(row != nullptr, "there is no loop for {}", def->name);
      kernels.add(*def, {.name = std::string(name(kLevel)) + " step",
                         .supports = [](Op) { return cpu_supports(kLevel); },
                         .plan =
                             [row](const KernelContext& context) {
                               const auto dtype = static_cast<int>(context.in(0).dtype());
                               return step_by(row->loops[dtype], updated_states(*context.attrs));
                             }});
    }
  });
}

}  // namespace antichain::cpu
