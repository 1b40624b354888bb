#include "antichain/passes/simplify/fold_constants.h"

#include <algorithm>
#include <any>
#include <optional>

#include "antichain/graph/kernel_context.h"
#include "antichain/graph/structural_ops.h"
#include "antichain/ops/definition_parts.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

namespace {

constexpr std::size_t kSmall = 4096;  // bytes that a constant may always take

bool needs_no_sizes(const Attrs& attrs) {
  return std::ranges::all_of(
      attrs.entries(), [](const Attrs::Entry& entry) { return is_bound(entry.second, DimEnv()); });
}

// The sum of the sizes of values whose shapes are numbers.
std::optional<std::size_t> total_bytes(std::span<const Var> values) {
  std::size_t bytes = 0;
  for (Var value : values) {
    const Dim count = numel(value.shape());
    if (!count.is_constant()) {
      return std::nullopt;
    }
    bytes += static_cast<std::size_t>(count.constant()) * size_of(value.dtype());
  }
  return bytes;
}

// Views cost nothing where they are, and a broadcast number is best known as a number.
bool folds(Op op) {
  const OpDef& def = op.def();
  if (op.num_inputs() == 0 || def.effect != Effect::none || !op.regions().empty() || def.view ||
      def.forwards || def.shape_from_data || !def.reference || !needs_no_sizes(op.attrs()) ||
      !op.graph().constraints(op).empty()) {
    return false;
  }
  const std::vector<Var> inputs = op.inputs(), outputs = op.outputs();
  if (!std::ranges::all_of(inputs, [](Var x) { return made_by(x, constant_def()); })) {
    return false;
  }
  const auto in = total_bytes(inputs), out = total_bytes(outputs);
  return in && out && *out <= std::max(*in, kSmall);
}

std::vector<Var> fold(Op op) {
  if (!folds(op)) {
    return op.outputs();
  }
  std::vector<Tensor> inputs, outputs;
  for (Var input : op.inputs()) {
    inputs.push_back(input.producer().attrs().get<Tensor>("value"));
  }
  const DimEnv no_sizes;
  for (Var output : op.outputs()) {
    outputs.push_back(Tensor::empty(output.dtype(), evaluate(output.shape(), no_sizes)));
  }
  std::vector<const Tensor*> input_pointers;
  std::vector<Tensor*> output_pointers;
  std::vector<std::uint8_t> wanted(outputs.size(), 1);
  std::ranges::transform(inputs, std::back_inserter(input_pointers), [](Tensor& t) { return &t; });
  std::ranges::transform(outputs, std::back_inserter(output_pointers),
                         [](Tensor& t) { return &t; });
  std::any memory;
  const std::string where = op.describe();
  KernelContext context;
  context.inputs = input_pointers;
  context.outputs = output_pointers;
  context.op = op;
  context.attrs = &op.attrs();
  context.env = &no_sizes;
  context.wanted = wanted;
  context.where = where;
  context.memory = &memory;
  op.def().reference(context);
  std::vector<Var> results;
  for (const Tensor& output : outputs) {
    results.push_back(constant(op.graph(), output));
  }
  return results;
}

}  // namespace

GraphCopy fold_constants(const GraphCopy& source) {
  return copy_graph(source, replacing_ops(fold));
}

bool has_folds(Graph& graph) { return has_op(graph, folds); }

}  // namespace antichain
