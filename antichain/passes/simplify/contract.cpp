#include "antichain/passes/simplify/contract.h"

#include "antichain/ops/elementwise/fused.h"
#include "antichain/ops/products/fused_product.h"

namespace antichain {

namespace {

bool may_contract(Op op) {
  return (&op.def() == &fused_def() || &op.def() == &fused_product_def()) &&
         !op.attrs().get<bool>("contract");
}

std::vector<Var> contracted(Op op) {
  if (!may_contract(op)) {
    return op.outputs();
  }
  Attrs attrs = op.attrs();
  attrs.set("contract", true);
  const std::vector<Var> inputs = op.inputs();
  return op.graph()
      .add(op.def(), inputs, attrs, {op.regions().begin(), op.regions().end()}, op.location())
      .outputs();
}

}  // namespace

GraphCopy contract(const GraphCopy& source) {
  return copy_graph(source, replacing_ops(contracted));
}

}  // namespace antichain
