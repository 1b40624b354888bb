#include "antichain/backends/cpu/elementwise/elementwise.h"

#include <algorithm>
#include <memory>

#include "antichain/backends/cpu/elementwise/planned_loops.h"
#include "antichain/backends/cpu/jit/jit_compiler.h"
#include "antichain/backends/cpu/rows/fused_rows.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/elementwise/fused.h"

namespace antichain::cpu {

namespace {

template <SimdLevel kLevel>
ElementOp find_element_op(Op op) {
  const OpDef& def = op.def();
  const DType input = op.input(0).dtype(), output = op.output().dtype();
  if (&def == &select_def()) {
    return {select_loop<kLevel>(output)};
  }
  if (&def == &cast_def()) {
    return {cast_loop<kLevel>(input, output)};
  }
  if (&def == &clip_def()) {
    return {clip_loop<kLevel>(input),
            {op.attrs().get<double>("low"), op.attrs().get<double>("high")}};
  }
  const LoopTable table = op.num_inputs() == 1 ? unary_loops<kLevel>() : binary_loops<kLevel>();
  const LoopRow* const row = table.find(def.name);
  return {row != nullptr ? row->loops[static_cast<int>(input)] : nullptr};
}

FusedSteps steps_of_one(SimdLevel level, Op op) {
  ElementOp found = element_op(level, op);
  if (found.loop == nullptr) {
    return {.support = Support::no("no loop for " + std::string(name(op.input(0).dtype())))};
  }
  PieceStep step{.loop = found.loop,
                 .results = {{op.output().dtype(), 0}},
                 .constants = std::move(found.constants)};
  for (int n = 0; n < op.num_inputs(); ++n) {
    step.operands.push_back(n);
  }
  FusedSteps result;
  result.steps.push_back(std::move(step));
  return result;
}

using StepsOf = FusedSteps (*)(SimdLevel level, Op op);

Kernel make_elementwise_kernel(SimdLevel level, const OpDef& def,
                               const std::shared_ptr<JitCompiler>& jit) {
  const StepsOf steps_of = &def == &fused_def() ? fused_steps : steps_of_one;
  return {
      .name = std::string(name(level)) + " elementwise",
      .supports = [level, steps_of, jit](
                      Op op) { return supports_steps(level, op, steps_of(level, op), jit.get()); },
      .plan = [level, steps_of, jit](const KernelContext& context) -> KernelFunction {
        FusedSteps found = steps_of(level, context.op);
        if (jit) {
          found = with_compiled_runs(found, context.inputs.size(), *jit);
        }
        if (found.walks_rows()) {
          const auto rows = std::make_shared<FusedRows>(context, found);
          return [rows](KernelContext& run) { rows->run(run); };
        }
        const auto loops = std::make_shared<const PlannedLoops>(context, std::move(found));
        return [loops](KernelContext& run) { loops->plan().run(loops->operands(run)); };
      },
      .strided_inputs = true,
      .in_place = true,
      .may_overwrite = &def == &fused_def() ? may_overwrite : nullptr};
}

}  // namespace

ElementOp element_op(SimdLevel level, Op op) {
  ElementOp found;
  for_each_simd_level([&]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    if (kLevel == level) {
      found = find_element_op<kLevel>(op);
    }
  });
  return found;
}

void register_elementwise(KernelTable& kernels, const std::shared_ptr<JitCompiler>& jit) {
  for_each_simd_level([&]<SimdLevel kLevel>(std::integral_constant<SimdLevel, kLevel>) {
    for (const auto& family :
         {elementwise_unary_family(), elementwise_binary_family(), elementwise_gradient_family(),
          elementwise_other_family(), fusion_family()}) {
      for (const OpDef* def : family) {
        kernels.add(*def,
                    make_elementwise_kernel(kLevel, *def, def == &fused_def() ? jit : nullptr));
      }
    }
  });
}

}  // namespace antichain::cpu
