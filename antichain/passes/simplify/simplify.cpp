#include "antichain/passes/simplify/simplify.h"

namespace antichain {

namespace {

constexpr int kMaxRewritesPerOp =
    16;  // every rule makes things smaller; this catches one that does not

// Applies rules until none fires. A rule may build an op to which another rule applies.
std::vector<Var> rewrite(Op op) {
  std::vector<Var> outputs = op.outputs();
  for (int round = 0; round < kMaxRewritesPerOp; ++round) {
    bool fired = false;
    for (const Rewrite& rule : op.def().rewrites) {
      if (auto replaced = rule.apply(op)) {
        outputs = std::move(*replaced);
        fired = true;
        break;
      }
    }
    if (!fired || outputs.size() != 1 || op.graph().is_region_param(outputs[0])) {
      return outputs;
    }
    op = outputs[0].producer();
  }
  return outputs;
}

}  // namespace

GraphCopy simplify(const GraphCopy& source) { return copy_graph(source, replacing_ops(rewrite)); }

}  // namespace antichain
