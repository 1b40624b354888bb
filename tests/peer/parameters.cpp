#include "tests/peer/parameters.h"

#include "antichain/graph/clone.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::peer {

Vars with_parameters(const Vars& outputs, std::span<const Var> values) {
  Graph& graph = outputs.at(0).graph();
  const Vars replaced = parameters(graph);
  require(replaced.size() == values.size(), "{} parameters instead of PyTorch's {}",
          replaced.size(), values.size());
  Cloner cloner(graph, graph);
  for (Op op : schedule(graph, outputs)) {
    if (op.def().effect == Effect::none && &op.def() != &input_def()) {
      cloner.copy(op);
      continue;
    }
    for (Var output : op.outputs()) {
      const auto found = std::find(replaced.begin(), replaced.end(), output);
      cloner.map(output, found == replaced.end()
                             ? output
                             : values[static_cast<std::size_t>(found - replaced.begin())]);
    }
  }
  return cloner(outputs);
}

}  // namespace antichain::peer
