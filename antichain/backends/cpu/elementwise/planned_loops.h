// The loops of element-wise steps, planned for the tensors of a kernel.
#pragma once

#include <vector>

#include "antichain/backends/cpu/elementwise/fused_steps.h"
#include "antichain/graph/kernel_context.h"

namespace antichain::cpu {

/// An ElementwisePlan for the inputs of a context, with the numbers of the steps behind them.
class PlannedLoops {
 public:
  PlannedLoops(const KernelContext& context, FusedSteps steps, InBlocks blocks = {});

  const ElementwisePlan& plan() const { return plan_; }
  /// Returns where inputs and outputs are in this run.
  ElementwisePlan::Operands operands(const KernelContext& context) const;

 private:
  std::vector<Tensor> numbers_;
  ElementwisePlan plan_;
};

}  // namespace antichain::cpu
