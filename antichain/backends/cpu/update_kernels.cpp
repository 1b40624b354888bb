#include "antichain/backends/cpu/update_kernels.h"

#include "antichain/backends/cpu/parallel.h"
#include "antichain/backends/cpu/simd/update_loops.h"
#include "antichain/ops/update_ops.h"

namespace antichain::cpu {

namespace {

constexpr std::int64_t kGrain = 16 * 1024;  // elements: a task is far more than starting one costs

KernelFunction step_by(UpdateLoop loop, const std::vector<std::string>& states) {
  return [loop, states](KernelContext& context) {
    if (!context.in(2).item<bool>()) {
      context.out() = context.states->get(states[0], *context.device);
      return;
    }
    const double* const numbers = context.in(1).data<double>();
    const void* const gradient = context.in(0).raw();
    const auto change = [&](const UpdatedMemory& memory) {
      parallel_ranges(context.in(0).numel(), kGrain, [&](std::int64_t first, std::int64_t last) {
        loop(memory.before.data(), memory.after.data(), gradient, numbers, first, last);
      });
    };
    context.out() = change_states(*context.states, states, change);
  };
}

std::vector<std::string> states_in(const Attrs& attrs) {
  std::vector<std::string> states;
  for (const auto& [name, value] : attrs.entries()) {
    states.push_back(std::get<std::string>(value));
  }
  return states;
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
                               return step_by(row->loops[dtype], states_in(*context.attrs));
                             }});
    }
  });
}

}  // namespace antichain::cpu
