// The guards of graph.h: scopes, locations and regions that last as long as a C++ block.
#include <fmt/format.h>

#include <algorithm>

#include "antichain/graph/graph.h"

namespace antichain {

ScopeGuard::ScopeGuard(Graph& graph, std::string_view name)
    : graph_(graph), previous_(graph.current_scope_) {
  std::string full = graph.qualify(name);
  graph.current_scope_ = static_cast<std::uint32_t>(graph.scopes_.size());
  graph.scopes_.push_back(std::move(full));
}

ScopeGuard::~ScopeGuard() { graph_.current_scope_ = previous_; }

std::string Graph::qualify(std::string_view name) const {
  const std::string& outer = scopes_[current_scope_];
  return outer.empty() ? std::string(name) : fmt::format("{}.{}", outer, name);
}

void Graph::choose_engines(EnginePlan plan) {
  plan_taken_.assign(plan.parts().size(), false);
  engine_plan_ = std::move(plan);
}

std::string Graph::engine_for(const EngineChoice& choice) {
  const int part =
      choice.is_open() && plan_pauses_ == 0 ? engine_plan_.part_of(scopes_[current_scope_]) : -1;
  if (part < 0) {
    return choice.attribute();
  }
  plan_taken_[static_cast<std::size_t>(part)] = true;
  return engine_plan_.parts()[static_cast<std::size_t>(part)].engine.attribute();
}

LocationGuard::LocationGuard(Graph& graph, const Place& location, bool force)
    : graph_(graph), previous_(graph.location_override_) {
  graph.location_override_ = previous_ && !force ? previous_ : &location;
}

LocationGuard::~LocationGuard() { graph_.location_override_ = previous_; }

RegionSwitch::RegionSwitch(Graph& graph) : graph_(graph), open_regions_{kRootRegion} {
  open_regions_.swap(graph.open_regions_);
}

RegionSwitch::~RegionSwitch() { open_regions_.swap(graph_.open_regions_); }

RegionScope::RegionScope(Graph& graph)
    : graph_(graph), region_{static_cast<std::uint32_t>(graph.regions_.size())} {
  graph.regions_.push_back({});
  graph.open_regions_.push_back(region_);
}

RegionScope::~RegionScope() {
  if (open_) {  // left by an exception
    graph_.open_regions_.pop_back();
  }
}

Var RegionScope::param(const VarType& type, std::string_view name) {
  Graph::RegionNode& region = graph_.regions_[region_.value];
  ensure(region.capture_order.empty(), "parameters must be declared before anything is captured");
  const Var var = graph_.add_var(type, {}, static_cast<std::uint32_t>(region.info.params.size()));
  region.info.params.push_back(var.id());
  if (!name.empty()) {
    graph_.set_name(var, name);
  }
  return var;
}

Var RegionScope::step_param() {
  const Var step = param({DType::i64, {}}, "step");
  graph_.regions_[region_.value].step = step.id();
  return step;
}

RegionId RegionScope::finish(const std::vector<Var>& results) {
  ensure(graph_.current_region() == region_, "regions must be finished inside out");
  Graph::RegionNode& region = graph_.regions_[region_.value];
  for (Var result : results) {
    require(result.valid() && &result.graph() == &graph_,
            "a region returns something that is no value");
    region.info.results.push_back(graph_.capture(result).id());
  }
  region.captured = {};
  graph_.open_regions_.pop_back();
  open_ = false;
  return region_;
}

std::vector<Var> RegionScope::captures() const {
  return graph_.vars(graph_.regions_[region_.value].capture_order);
}

}  // namespace antichain
