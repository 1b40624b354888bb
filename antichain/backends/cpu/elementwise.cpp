#include "antichain/backends/cpu/elementwise.h"

#include <algorithm>
#include <memory>

#include "antichain/backends/cpu/fused_rows.h"
#include "antichain/backends/cpu/jit/jit_compiler.h"
#include "antichain/ops/elementwise.h"
#include "antichain/ops/fused.h"

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

Support supports(SimdLevel level, Op op, StepsOf steps_of, JitCompiler* jit) {
  if (Support support = cpu_supports(level); !support.yes) {
    return support;
  }
  const Dims& shape = &op.def() == &fused_def() ? fused_shape(op.graph(), op.regions()[0]).domain
                                                : op.output().shape();
  if (shape.size() > ElementwisePlan::kMaxAxes) {
    return Support::no("more than " + std::to_string(ElementwisePlan::kMaxAxes) + " axes");
  }
  const FusedSteps found = steps_of(level, op);
  if (found.support.yes && jit != nullptr) {
    // While the rest of the graph is compiled; who plans waits for it.
    start_compiling(found, static_cast<std::size_t>(op.num_inputs()), *jit);
  }
  return found.support;
}

// Whether nobody reads an input of a fused op after the output has been written to its memory.
bool may_overwrite(Op fused, int out, int in) {
  const RegionInfo& body = fused.graph().region(fused.regions()[0]);
  const VarId input = body.params[static_cast<std::size_t>(in)];
  bool written = false;
  for (Op op : ops_in_order(fused)) {
    const std::vector<Var> operands = op.inputs();
    if (written && std::ranges::any_of(operands, [&](Var x) { return x.id() == input; })) {
      return false;
    }
    written = written || op.output().id() == body.results[static_cast<std::size_t>(out)];
  }
  return true;
}

// Loops over elements of one shape.
KernelFunction plan_loops(const KernelContext& context, FusedSteps steps) {
  std::vector<PieceInput> inputs;
  const auto add = [&inputs](const Tensor& tensor) {
    inputs.push_back({tensor.dtype(), tensor.shape(), tensor.strides()});
  };
  for (const Tensor* input : context.inputs) {
    add(*input);
  }
  std::ranges::for_each(steps.numbers, add);
  const Shape* shape = nullptr;
  for (PieceStep& step : steps.steps) {
    for (PieceStep::Result& result : step.results) {
      // An output that nobody wants has no memory.
      if (result.output >= 0 && context.wanted[static_cast<std::size_t>(result.output)] == 0) {
        result.output = -1;
      }
      shape = result.output >= 0 ? &context.out(result.output).shape() : shape;
    }
  }
  ensure(shape != nullptr, "nobody wants what element-wise ops compute");
  const auto plan = std::make_shared<const ElementwisePlan>(*shape, inputs, std::move(steps.steps));
  return [plan, numbers = std::move(steps.numbers)](KernelContext& run) {
    ElementwisePlan::Operands operands;
    std::size_t next = 0;
    for (const Tensor* input : run.inputs) {
      operands.in[next++] = static_cast<const std::byte*>(input->raw());
    }
    for (const Tensor& number : numbers) {
      operands.in[next++] = static_cast<const std::byte*>(number.raw());
    }
    for (std::size_t n = 0; n < run.outputs.size(); ++n) {
      if (run.wanted[n] != 0) {
        operands.out[n] = static_cast<std::byte*>(run.outputs[n]->raw());
      }
    }
    plan->run(operands);
  };
}

Kernel make_kernel(SimdLevel level, const OpDef& def, const std::shared_ptr<JitCompiler>& jit) {
  const StepsOf steps_of = &def == &fused_def() ? fused_steps : steps_of_one;
  return {.name = std::string(name(level)) + " elementwise",
          .supports = [level, steps_of,
                       jit](Op op) { return supports(level, op, steps_of, jit.get()); },
          .plan = [level, steps_of, jit](const KernelContext& context) -> KernelFunction {
            FusedSteps found = steps_of(level, context.op);
            if (jit) {
              found = with_compiled_runs(found, context.inputs.size(), *jit);
            }
            if (!found.walks_rows()) {
              return plan_loops(context, std::move(found));
            }
            const auto rows = std::make_shared<FusedRows>(context, found);
            return [rows](KernelContext& run) { rows->run(run); };
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
        kernels.add(*def, make_kernel(kLevel, *def, def == &fused_def() ? jit : nullptr));
      }
    }
  });
}

}  // namespace antichain::cpu
