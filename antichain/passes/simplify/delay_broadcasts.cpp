#include "antichain/passes/simplify/delay_broadcasts.h"

#include <algorithm>

#include "antichain/ops/definition_parts.h"
#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/shape/shape_ops.h"

namespace antichain {

namespace {

bool is_repeated(Var value) { return made_by(value, broadcast_to_def()); }

bool computes_on_repeated(Op op) {
  const std::vector<Var> inputs = op.inputs();
  return is_elementwise(op.def()) && std::ranges::any_of(inputs, is_repeated);
}

std::vector<Var> delay(Op op) {
  if (!computes_on_repeated(op)) {
    return op.outputs();
  }
  std::vector<Var> inputs = op.inputs();
  for (Var& input : inputs) {
    input = is_repeated(input) ? input.producer().input(0) : input;
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

bool has_repeated_operands(Graph& graph) { return has_op(graph, computes_on_repeated); }

}  // namespace antichain
