#include "antichain/passes/memory/kept_states.h"

#include <algorithm>
#include <unordered_set>

#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/control_flow/revolve.h"

namespace antichain {

std::vector<KeptStates> kept_states(Graph& graph, const DimEnv& sizes) {
  std::unordered_set<VarId> read;
  for (OpId id : graph.region(kRootRegion).ops) {
    for (Var input : graph.op(id).inputs()) {
      read.insert(input.id());
    }
  }
  std::vector<KeptStates> all;
  for (OpId id : graph.region(kRootRegion).ops) {
    const Op op = graph.op(id);
    if (&op.def() != &chain_def() || !op.attrs().get<Dim>("length").is_bound(sizes)) {
      continue;
    }
    const ChainLayout layout(op);
    const auto slots = op.attrs().get<std::int64_t>("slots");
    KeptStates kept{.steps = op.attrs().get<Dim>("length").evaluate(sizes)};
    bool walked_back = false;
    for (int i = 0; i < layout.states; ++i) {
      walked_back = walked_back || read.contains(op.output(layout.first_before() + i).id());
      const Var state = op.output(i);
      if (is_bound(state.shape(), sizes)) {
        kept.state_bytes += static_cast<std::int64_t>(
            packed_bytes(evaluate(state.shape(), sizes), size_of(state.dtype())));
      }
    }
    // Beside the rows, the states before the first step are there all the time.
    kept.stored = slots == 0 ? kept.steps : slots + 1;
    kept.evaluations =
        slots == 0 ? 1 : std::max<std::int64_t>(1, evaluations_per_step(kept.steps, slots));
    // The last step is evaluated for what follows the chain.
    kept.all_evaluations =
        slots == 0 ? kept.steps : total_evaluations(kept.steps, slots) + (kept.steps > 0 ? 1 : 0);
    if (walked_back) {
      all.push_back(kept);
    }
  }
  return all;
}

}  // namespace antichain
