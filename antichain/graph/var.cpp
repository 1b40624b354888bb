#include "antichain/graph/var.h"

#include <fmt/format.h>

#include "antichain/graph/evaluator.h"
#include "antichain/graph/graph.h"
#include "antichain/graph/state_names.h"

namespace antichain {

void Var::refuse() const {
  require(valid(), "this is not a value of a graph");
  fail<InvalidArgument>(
      "this value is of a graph that is gone; keep the Graph for as long as its values");
}

const VarType& Var::type() const { return *graph().vars_[id_.value].type; }

Dim Var::dim(int axis) const {
  return shape()[static_cast<std::size_t>(normalize_axis(axis, rank()))];
}

Op Var::producer() const {
  require(!graph().is_region_param(*this), "value {} is a parameter of a region; no op computes it",
          *this);
  return graph_->op(graph_->vars_[id_.value].producer);
}

bool Var::has_name() const { return valid() && graph().vars_[id_.value].name != Graph::kNone; }

const Tensor& Var::value() const {
  require(valid() && graph().evaluator() != nullptr,
          "{} has no value while the graph is built; compile it, or compute it in eager mode",
          *this);
  return graph_->evaluator()->value(*this);
}

std::string Var::name() const {
  if (!valid()) {
    return "(none)";
  }
  const std::uint32_t name = graph().vars_[id_.value].name;
  return name != Graph::kNone ? graph_->names_[name] : fmt::format("%{}", id_.value);
}

const OpDef& Op::def() const { return *graph_->ops_[id_.value].def; }
const Attrs& Op::attrs() const { return *graph_->ops_[id_.value].attrs; }
int Op::num_inputs() const { return static_cast<int>(graph_->ops_[id_.value].num_inputs); }
int Op::num_outputs() const { return static_cast<int>(graph_->ops_[id_.value].num_outputs); }

Var Op::input(int index) const {
  return {graph_, graph_->inputs_of(graph_->ops_[id_.value])[static_cast<std::size_t>(index)]};
}

Var Op::output(int index) const {
  const Graph::OpNode& node = graph_->ops_[id_.value];
  ensure(index >= 0 && static_cast<std::uint32_t>(index) < node.num_outputs, "{} has no output {}",
         node.def->name, index);
  return {graph_, VarId{node.first_output.value + static_cast<std::uint32_t>(index)}};
}

std::vector<Var> Op::inputs() const {
  return graph_->vars(graph_->inputs_of(graph_->ops_[id_.value]));
}

std::vector<Var> Op::outputs() const {
  std::vector<Var> result;
  result.reserve(static_cast<std::size_t>(num_outputs()));
  for (int i = 0; i < num_outputs(); ++i) {
    result.push_back(output(i));
  }
  return result;
}

std::span<const RegionId> Op::regions() const {
  return graph_->op_regions_[graph_->ops_[id_.value].regions];
}

std::vector<std::string> Op::states() const {
  std::vector<std::string> names;
  if (def().effect == Effect::reads_state || def().effect == Effect::writes_state) {
    for (const auto& [name, value] : attrs().entries()) {
      if (name.starts_with("state")) {
        const std::vector<std::string> alike = split_state_names(std::get<std::string>(value));
        names.insert(names.end(), alike.begin(), alike.end());
      }
    }
  }
  return names;
}
std::span<const ControlEdge> Op::control_edges() const {
  return graph_->control_[graph_->ops_[id_.value].control];
}

const Place& Op::location() const { return graph_->ops_[id_.value].location; }
const std::string& Op::scope() const { return graph_->scopes_[graph_->ops_[id_.value].scope]; }

std::string Op::describe() const {
  std::string_view file = location().file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  const std::string in = scope().empty() ? "" : fmt::format(" in '{}'", scope());
  const auto* const label = attrs().find("label");
  const std::string parts = label ? fmt::format("({})", std::get<std::string>(*label)) : "";
  return fmt::format("{}{} {}{} ({}:{})", def().name, parts, num_outputs() ? output(0).name() : "",
                     in, file, location().line());
}

}  // namespace antichain

fmt::format_context::iterator fmt::formatter<antichain::Var>::format(
    antichain::Var var, fmt::format_context& context) const {
  return fmt::formatter<std::string_view>::format(var.name(), context);
}

fmt::format_context::iterator fmt::formatter<antichain::Op>::format(
    antichain::Op op, fmt::format_context& context) const {
  return fmt::formatter<std::string_view>::format(op.describe(), context);
}
