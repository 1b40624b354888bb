#include "antichain/session/device_passes.h"

#include "antichain/ops/op_cost.h"
#include "antichain/passes/graph_copy.h"

namespace antichain {

namespace {

bool has_products(Op op) {
  bool found = false;
  for_each_work(op, {}, [&found](const OpWork& work) { found |= work.flops > 0; });
  return found;
}

}  // namespace

bool is_taken_apart(Op op, const Backend& backend) {
  if (!op.def().decompose || op.def().on_any_device) {
    return false;
  }
  if (backend.device() != Device{}) {
    return !backend.kernels().has_kernel(op);
  }
  return backend.kernels().candidates(op.def()).empty() && has_products(op);
}

CompilerOptions for_device(CompilerOptions options, Graph& graph, const Backend& backend,
                           bool is_for_budget) {
  if (!options.layout_gain) {
    options.layout_gain = [&backend](Op op) { return backend.channels_last_gain(op); };
  }
  const auto is_missing = [&backend](Op op) { return is_taken_apart(op, backend); };
  if (!options.is_missing && has_op(graph, is_missing)) {
    options.is_missing = is_missing;
  }
  // Both take memory: for what is stacked, and for gradients that wait for others.
  const bool few_kernels = backend.wants_few_kernels() && !is_for_budget;
  options.split_chains |= few_kernels;
  options.batch_updates |= few_kernels;
  options.fuse_row_updates |= !backend.wants_few_kernels();
  options.recompute |= backend.wants_few_kernels();
  return options;
}

}  // namespace antichain
