#include "antichain/ops/operand.h"

#include "antichain/graph/structural_ops.h"
#include "antichain/ops/shape/creation.h"

namespace antichain {

Var Operand::var() const {
  require(is_var(), "a value of a graph is needed here, not a plain number");
  return std::get<Var>(value_);
}

Var Operand::as(Graph& graph, DType dtype) const {
  if (is_var()) {
    return std::get<Var>(value_);
  }
  const LocationGuard location(graph, location_);
  if (const auto* number = std::get_if<std::int64_t>(&value_); number && !is_float(dtype)) {
    const Tensor value = Tensor::scalar<std::int64_t>(*number).cast(dtype);
    require<TypeError>(value.item<std::int64_t>() == *number,
                       "the number {} does not fit a value of type {}; cast the value", *number,
                       name(dtype));
    return constant(graph, value);
  }
  const auto* whole = std::get_if<std::int64_t>(&value_);
  const double number = whole ? static_cast<double>(*whole) : std::get<double>(value_);
  require<TypeError>(is_float(dtype),
                     "the number {} does not fit a value of type {}; cast the value", number,
                     name(dtype));
  return scalar(graph, dtype, number);
}

std::vector<Var> apply_all(const OpDef& def, const std::vector<Operand>& operands, Attrs attrs) {
  const Operand* first = nullptr;
  for (const Operand& operand : operands) {
    first = !first && operand.is_var() ? &operand : first;
  }
  require(first != nullptr && first->var().valid(),
          "{}: at least one operand must be a value of a graph", def.name);
  Graph& graph = first->var().graph();
  std::vector<Var> inputs;
  for (const Operand& operand : operands) {
    inputs.push_back(operand.as(graph, first->var().dtype()));
  }
  return graph.add(def, std::move(inputs), std::move(attrs), {}, operands[0].location()).outputs();
}

Var apply(const OpDef& def, const std::vector<Operand>& operands, Attrs attrs) {
  return apply_all(def, operands, std::move(attrs))[0];
}

}  // namespace antichain
