#include "antichain/backends/cpu/elementwise/planned_loops.h"

#include <algorithm>
#include <utility>

namespace antichain::cpu {

namespace {

ElementwisePlan make_plan(const KernelContext& context, FusedSteps steps, InBlocks blocks) {
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
  return ElementwisePlan(*shape, inputs, std::move(steps.steps), blocks);
}

}  // namespace

PlannedLoops::PlannedLoops(const KernelContext& context, FusedSteps steps, InBlocks blocks)
    : numbers_(steps.numbers), plan_(make_plan(context, std::move(steps), blocks)) {}

ElementwisePlan::Operands PlannedLoops::operands(const KernelContext& context) const {
  ElementwisePlan::Operands operands;
  std::size_t next = 0;
  for (const Tensor* input : context.inputs) {
    // What comes block by block has no memory.
    operands.in[next++] =
        input->buffer()->data() != nullptr ? static_cast<const std::byte*>(input->raw()) : nullptr;
  }
  for (const Tensor& number : numbers_) {
    operands.in[next++] = static_cast<const std::byte*>(number.raw());
  }
  for (std::size_t n = 0; n < context.outputs.size(); ++n) {
    if (context.wanted[n] != 0) {
      operands.out[n] = static_cast<std::byte*>(context.outputs[n]->raw());
    }
  }
  return operands;
}

}  // namespace antichain::cpu
