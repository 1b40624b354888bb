#include "antichain/passes/simplify/decompose.h"

namespace antichain {

GraphCopy decompose(const GraphCopy& source, const std::function<bool(Op)>& is_missing) {
  const auto has_parts = [&](Op op) { return op.def().decompose && is_missing(op); };
  const CopyRules apart =
      replacing_ops([&](Op op) { return has_parts(op) ? op.def().decompose(op) : op.outputs(); });
  GraphCopy copy = copy_graph(source, apart);
  // Parts may have parts. An op that waits for others stays whole, so only what has changed counts.
  for (std::uint32_t before = 0; before != copy.graph->num_ops();) {
    before = static_cast<std::uint32_t>(copy.graph->num_ops());
    copy = copy_graph(copy, apart);
  }
  return copy;
}

}  // namespace antichain
