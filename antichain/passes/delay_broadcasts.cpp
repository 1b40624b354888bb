#include "antichain/passes/delay_broadcasts.h"

#include "antichain/ops/definition_parts.h"
#include "antichain/ops/fused.h"
#include "antichain/ops/shape_ops.h"

namespace antichain {

namespace {

std::vector<Var> delay(Op op) {
  if (!is_elementwise(op.def())) {
    return op.outputs();
  }
  std::vector<Var> inputs = op.inputs();
  bool repeats = false;
  for (Var& input : inputs) {
    if (made_by(input, broadcast_to_def())) {
      input = input.producer().input(0);
      repeats = true;
    }
  }
  if (!repeats) {
    return op.outputs();
  }
  Graph& graph = op.graph();
  const Op smaller = graph.add(op.def(), inputs, op.attrs(), {}, op.location());
  if (!graph.constraints(smaller).empty()) {
    return op.outputs();  // sizes that may or may not be equal: as the user wrote it
  }
  const Dims& shape = op.output().shape();
  const Var result = smaller.output();
  return {result.shape() == shape ? result : broadcast_to(result, shape)};
}

}  // namespace

GraphCopy delay_broadcasts(const GraphCopy& source) {
  return copy_graph(source, replacing_ops(delay));
}

}  // namespace antichain
