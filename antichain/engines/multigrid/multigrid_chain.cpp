#include "antichain/engines/multigrid/multigrid_chain.h"

#include "antichain/engines/multigrid/cycles.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/state/reports.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain::multigrid {

namespace {

void add_in_order(Vars& outputs, const Vars& values, bool reverse) {
  for (Var value : values) {
    outputs.push_back(reverse ? flip(value, {0}) : value);
  }
}

}  // namespace

std::string why_not_solved(Op chain, CoarseStep coarse) {
  const ChainLayout layout(chain);
  if (layout.states == 0) {
    return "nothing is carried between its steps";
  }
  for (int i = 0; i < layout.states; ++i) {
    if (chain.input(i).dtype() == DType::boolean) {
      return "it carries bool, and multigrid corrects states by adding to them";
    }
  }
  const std::string reason = why_not_vmap(chain.graph(), chain.regions()[0]);
  if (!reason.empty()) {
    return reason;
  }
  return coarse == CoarseStep::chosen ? no_coarse_step() : std::string();
}

Vars solve_chain(Op chain, const SolveOptions& options, const ForwardContext& context) {
  const bool reverse = chain.attrs().get<bool>("reverse");
  const Vars inputs = chain.inputs();
  const Vars start(inputs.begin(), inputs.begin() + ChainLayout(chain).states);
  const Cycles::Outcome found = Cycles(chain, options).solve(start);
  Vars outputs = found.states.last;
  add_in_order(outputs, found.states.before, reverse);
  add_in_order(outputs, found.states.ys, reverse);
  if (context.keeps_reports) {
    outputs = with_report(outputs, "multigrid_cycles", found.cycles);
    outputs = with_report(outputs, "multigrid_residual", found.residual);
    outputs = with_report(outputs, "multigrid_ratio", found.ratio);
  }
  return outputs;
}

}  // namespace antichain::multigrid
