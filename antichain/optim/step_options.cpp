#include "antichain/optim/step_options.h"

#include "antichain/ops/indexing/indexing.h"
#include "antichain/ops/products/sparse.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain::optim {

namespace {

// Which input of an op is a table of which it reads some rows; -1: none.
int looked_up_input(Op op) {
  const OpDef* const def = &op.def();
  if (def == &csr_matmul_def()) {
    return op.attrs().get<bool>("transposed") ? -1 : 3;
  }
  const bool looks_up =
      def == &embedding_def() || def == &embedding_bag_def() ||
      (def == &gather_def() &&
       normalize_axis(op.attrs().get<std::int64_t>("axis"), op.input(0).rank(), "axis") == 0);
  return looks_up ? 0 : -1;
}

}  // namespace

ParameterFilter named(std::string prefix) {
  return [prefix = std::move(prefix)](Var parameter) {
    return state_name(parameter).starts_with(prefix);
  };
}

ParameterFilter matrices() {
  return [](Var parameter) { return parameter.rank() >= 2; };
}

ParameterFilter looked_up() {
  return [](Var parameter) {
    Graph& graph = parameter.graph();
    bool used = false;
    for (std::uint32_t id = 0; id < graph.num_ops(); ++id) {
      const Op op = graph.op(OpId{id});
      for (int i = 0; i < op.num_inputs(); ++i) {
        if (op.input(i) == parameter) {
          if (i != looked_up_input(op)) {
            return false;
          }
          used = true;
        }
      }
    }
    return used;
  };
}

}  // namespace antichain::optim
