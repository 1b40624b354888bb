#include "antichain/ops/state/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/state/state_ops.h"

namespace antichain {

namespace {

// In eager mode the same line runs again and again, and goes on with its series.
std::string series_name(const Graph& graph, std::string_view series) {
  std::string name = fmt::format("{}{}", kReportPrefix, graph.qualify(series));
  if (graph.evaluator() != nullptr) {
    return name;
  }
  std::string numbered = name;
  for (int n = 2; graph.find_state(numbered) != nullptr; ++n) {
    numbered = fmt::format("{}_{}", name, n);
  }
  return numbered;
}

}  // namespace

Var with_report(Var carrier, std::string_view name, const Operand& value) {
  return with_report(std::vector{carrier}, name, value)[0];
}

std::vector<Var> with_report(const std::vector<Var>& carriers, std::string_view name,
                             const Operand& value) {
  const Var number = value.var();
  Graph& graph = number.graph();
  require<ShapeError>(number.rank() == 0, "report '{}': a report is one number, its shape is {}",
                      name, to_string(number.shape()));
  const bool is_in_root = std::ranges::all_of(
      carriers, [&](Var carrier) { return graph.region_of(carrier) == kRootRegion; });
  if (graph.current_region() != kRootRegion || !is_in_root) {
    return carriers;
  }
  const std::string state = series_name(graph, name);
  const Var unknown = scalar(graph, f64, std::numeric_limits<double>::quiet_NaN());
  graph.add_state({.name = state, .type = {f64, {}}, .initial = unknown, .is_derived = true});
  const Var write = assign(graph, state, cast(number, f64));
  std::vector<Var> carried;
  for (Var carrier : carriers) {
    carried.push_back(after_writes(carrier, {write}));
  }
  return carried;
}

}  // namespace antichain
