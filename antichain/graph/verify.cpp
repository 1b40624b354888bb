#include "antichain/graph/verify.h"

#include "antichain/graph/traversal.h"

namespace antichain {

namespace {

// Sizes named by fresh symbols differ from one inference to the next: compare only what must agree.
bool same_type(const VarType& a, const VarType& b, bool sizes_vary) {
  return a.dtype == b.dtype && a.shape.size() == b.shape.size() &&
         (sizes_vary || a.shape == b.shape);
}

void verify_op(Graph& graph, Op op, RegionId region) {
  for (int i = 0; i < op.num_inputs(); ++i) {
    const Var input = op.input(i);
    ensure(graph.region_of(input) == region, "{} uses {} of another region", op, input);
    ensure(graph.is_region_param(input) || input.producer().id() < op.id(),
           "{} uses {}, which is made later", op, input);
  }
  for (const ControlEdge& edge : op.control_edges()) {
    ensure(edge.before.value < graph.num_ops(), "{} waits for an op that does not exist", op);
  }
  const std::vector<Var> inputs = op.inputs();
  InferContext context(graph, op.def(), inputs, op.attrs(), op.regions());
  const std::vector<VarType> types = op.def().infer(context);
  ensure(static_cast<int>(types.size()) == op.num_outputs(), "{} has {} outputs, inference says {}",
         op, op.num_outputs(), types.size());
  for (int i = 0; i < op.num_outputs(); ++i) {
    ensure(same_type(op.output(i).type(), types[static_cast<std::size_t>(i)],
                     op.def().shape_from_data),
           "{}: output {} has another type than inference says", op, i);
  }
}

}  // namespace

void verify(Graph& graph) {
  std::vector<Op> all;
  for (std::uint32_t r = 0; r < graph.num_regions(); ++r) {
    const RegionId region{r};
    for (Var result : graph.vars(graph.region(region).results)) {
      ensure(graph.region_of(result) == region, "a region returns {} of another region", result);
    }
    for (OpId id : graph.region(region).ops) {
      verify_op(graph, graph.op(id), region);
      if (region == kRootRegion) {
        all.push_back(graph.op(id));
      }
    }
  }
  schedule(graph, {}, all);  // throws on a cycle
}

}  // namespace antichain
