#include "antichain/backends/cpu/movement/movement_kernels.h"

#include "antichain/backends/cpu/movement/copy_plan.h"
#include "antichain/ops/shape/moves.h"

namespace antichain::cpu {

namespace {

struct PlannedMove {
  int output, input;
  CopyPlan copy;
};

KernelFunction plan_moves(const KernelContext& context) {
  const std::size_t element_bytes = size_of(context.in(0).dtype());
  std::vector<PlannedMove> moves;
  for (const Move& move : moves_of(context)) {
    moves.push_back({move.output, move.input, CopyPlan(move.to, move.from, element_bytes)});
  }
  return [moves = std::move(moves)](KernelContext& run) {
    for (const PlannedMove& move : moves) {
      move.copy.run(run.out(move.output).raw(), run.in(move.input).raw());
    }
  };
}

}  // namespace

void register_movement(KernelTable& kernels) {
  for (const OpDef* def : moving_ops()) {
    kernels.add(*def, {.name = "strided copy",
                       .supports = [](Op) { return Support{}; },
                       .plan = plan_moves,
                       .strided_inputs = true});
  }
}

}  // namespace antichain::cpu
