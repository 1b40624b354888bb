#include "antichain/graph/print.h"

#include <fmt/format.h>

namespace antichain {

namespace {

std::string print_type(const VarType& type) {
  return fmt::format("{}{}", name(type.dtype), to_string(type.shape));
}

std::string print_list(const std::vector<Var>& vars, bool with_types) {
  std::string text;
  for (Var var : vars) {
    text += (text.empty() ? "" : ", ") + var.name();
    text += with_types ? ": " + print_type(var.type()) : "";
  }
  return text;
}

std::string print_attrs(const Attrs& attrs) {
  std::string text;
  for (const auto& [name, value] : attrs.entries()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, print_attr(value));
  }
  return text.empty() ? "" : " {" + text + "}";
}

void print_region(Graph& graph, RegionId id, int depth, std::string& text) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  for (OpId op_id : graph.region(id).ops) {
    const Op op = graph.op(op_id);
    text += fmt::format("{}{} = {}({}){}", indent, print_list(op.outputs(), true), op.def().name,
                        print_list(op.inputs(), false), print_attrs(op.attrs()));
    for (const ControlEdge& edge : op.control_edges()) {
      text += fmt::format(" after {}", graph.op(edge.before).describe());
    }
    text += op.scope().empty() ? "\n" : fmt::format("  # {}\n", op.scope());
    for (RegionId inner : op.regions()) {
      text += fmt::format("{}  region({}) {{\n", indent,
                          print_list(graph.vars(graph.region(inner).params), true));
      print_region(graph, inner, depth + 2, text);
      text += fmt::format("{}    return {}\n{}  }}\n", indent,
                          print_list(graph.vars(graph.region(inner).results), false), indent);
    }
  }
}

std::string escape(std::string_view text) {
  std::string result;
  for (char c : text) {
    result += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  }
  return result;
}

// Shared regions are drawn once per use, so node names carry the path to them.
void dot_region(Graph& graph, RegionId id, const std::string& prefix, std::string& text) {
  for (Var param : graph.vars(graph.region(id).params)) {
    text += fmt::format("\"{}v{}\" [shape=ellipse, label=\"{}\\n{}\"];\n", prefix, param.id().value,
                        escape(param.name()), escape(print_type(param.type())));
  }
  for (OpId op_id : graph.region(id).ops) {
    const Op op = graph.op(op_id);
    const std::string node = fmt::format("{}o{}", prefix, op_id.value);
    text += fmt::format("\"{}\" [shape=box, label=\"{}{}\"];\n", node, op.def().name,
                        escape(print_attrs(op.attrs())));
    for (Var input : op.inputs()) {
      const std::string from = graph.is_region_param(input)
                                   ? fmt::format("{}v{}", prefix, input.id().value)
                                   : fmt::format("{}o{}", prefix, input.producer().id().value);
      text += fmt::format("\"{}\" -> \"{}\" [label=\"{} {}\"];\n", from, node, escape(input.name()),
                          escape(print_type(input.type())));
    }
    for (const ControlEdge& edge : op.control_edges()) {
      text += fmt::format("\"{}o{}\" -> \"{}\" [style=dashed];\n", prefix, edge.before.value, node);
    }
    for (RegionId inner : op.regions()) {
      text += fmt::format("subgraph \"cluster_{}r{}\" {{\nlabel=\"region of {}\";\n", node,
                          inner.value, op.def().name);
      dot_region(graph, inner, fmt::format("{}r{}", node, inner.value), text);
      text += "}\n";
    }
  }
}

}  // namespace

std::string print_text(Graph& graph) {
  std::string text;
  for (const StateInfo& state : graph.states()) {
    text += fmt::format("state {}: {}{}\n", state.name, print_type(state.type),
                        state.trainable ? " trainable" : "");
  }
  print_region(graph, kRootRegion, 0, text);
  return text;
}

std::string print_dot(Graph& graph) {
  std::string text = "digraph antichain {\n";
  dot_region(graph, kRootRegion, "", text);
  return text + "}\n";
}

}  // namespace antichain
