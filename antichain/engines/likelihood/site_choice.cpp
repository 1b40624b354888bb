#include "antichain/engines/likelihood/site_choice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>
#include <unordered_set>

#include "antichain/autodiff/walk.h"
#include "antichain/base/error.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/catalogue.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/op_cost.h"

namespace antichain::likelihood {

namespace {

// Ops whose slope is 0 wherever it is there.
bool is_flat(const OpDef& def) {
  static const std::array<const OpDef*, 4> kFlat = {&find_op("sign"), &find_op("floor"),
                                                    &find_op("ceil"), &find_op("round")};
  return std::ranges::find(kFlat, &def) != kFlat.end();
}

// The ops of the region that a site reaches, in order.
std::vector<Op> ops_behind(Op op, Var value) {
  Graph& graph = op.graph();
  std::unordered_set<VarId> reached = {value.id()};
  std::vector<Op> behind;
  for (Op next : schedule_region(graph, op.regions()[0])) {
    const auto is_reached = [&](Var input) { return reached.contains(input.id()); };
    if (std::ranges::any_of(next.inputs(), is_reached)) {
      behind.push_back(next);
      for (Var output : next.outputs()) {
        reached.insert(output.id());
      }
    }
  }
  return behind;
}

using Values = std::unordered_set<VarId>;

Values reached_by_slopes(Graph& graph, RegionId region, const Values& from, const Values& stops);

bool reaches_any(Graph& graph, RegionId region, const Values& from, const Values& goals) {
  const Values reached = reached_by_slopes(graph, region, from, goals);
  return std::ranges::any_of(goals, [&](VarId goal) { return reached.contains(goal); });
}

// Says whether the steps of a chain, or a call, hand a gradient on from those inputs.
bool has_slope_inside(Op op, const std::vector<bool>& inputs) {
  if (&op.def() != &chain_def() && &op.def() != &call_def()) {
    return true;
  }
  const RegionInfo& body = op.graph().region(op.regions()[0]);
  const std::size_t first = &op.def() == &chain_def() ? 1 : 0;  // behind the step
  Values from;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) {
      from.insert(body.params[first + i]);
    }
  }
  return reaches_any(op.graph(), op.regions()[0], from,
                     Values(body.results.begin(), body.results.end()));
}

// What values reach in a region by ops that have a slope, as far as `stops`.
Values reached_by_slopes(Graph& graph, RegionId region, const Values& from, const Values& stops) {
  Values reached = from;
  for (Op next : schedule_region(graph, region)) {
    std::vector<bool> is_reached;
    for (Var input : next.inputs()) {
      is_reached.push_back(is_float(input.dtype()) && reached.contains(input.id()) &&
                           (from.contains(input.id()) || !stops.contains(input.id())));
    }
    if (has_derivative(next.def()) && !is_flat(next.def()) &&
        std::ranges::count(is_reached, true) > 0 && has_slope_inside(next, is_reached)) {
      for (Var output : next.outputs()) {
        if (is_float(output.dtype())) {
          reached.insert(output.id());
        }
      }
    }
  }
  return reached;
}

// Says whether a gradient comes back to a site from the losses or from another site.
bool has_slope_behind(Op op, const Site& site, const std::vector<Site>& sites) {
  Graph& graph = op.graph();
  Values ends;
  for (const Site& other : sites) {
    ends.insert(other.value.id());
  }
  const auto reaches_end = [&](RegionId region, VarId from, Values goals) {
    goals.erase(from);
    return reaches_any(graph, region, {from}, goals);
  };
  for (VarId result : graph.region(op.regions()[0]).results) {
    ends.insert(result);
  }
  if (!site.chain.valid()) {
    return reaches_end(op.regions()[0], site.value.id(), ends);
  }
  const RegionInfo& body = graph.region(site.chain.regions()[0]);
  Values goals(body.results.begin(), body.results.end());
  goals.insert(ends.begin(), ends.end());
  return reaches_end(site.chain.regions()[0], site.value.id(), goals);
}

// What a run from a site on costs, the steps of the site's own chain included, and what noise at
// the site has to find out (the design's rule: copies as the root of variance by cost, with
// gradients and inputs of unknown size).
double root_of_variance_by_cost(Op op, const Site& site) {
  const Var first = site.chain.valid() ? site.chain.output() : site.value;
  double seconds = site.chain.valid() ? estimated_seconds(site.chain, DimEnv{}) : 0;
  for (Op next : ops_behind(op, first)) {
    seconds += estimated_seconds(next, DimEnv{});
  }
  return std::sqrt(static_cast<double>(width_of(site)) / std::max(seconds, 1e-9));
}

// An even share of the runs, or one by cost; both of an antithetic pair stay together.
void divide_copies(Op op, const std::vector<Site>& sites, const Options& options,
                   std::vector<SiteGroup>& groups) {
  if (!options.allocates_by_cost || groups.size() < 2) {
    return;
  }
  std::vector<double> weights;
  for (const SiteGroup& group : groups) {
    weights.push_back(root_of_variance_by_cost(op, sites[group.sites[0]]));
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const std::int64_t unit =
      std::max<std::int64_t>({1, options.at_once, options.antithetic ? 2 : 1});
  const double all = static_cast<double>(options.copies) * static_cast<double>(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double units = all * weights[i] / total / static_cast<double>(unit);
    groups[i].copies = unit * std::max<std::int64_t>(unit == 1 ? 2 : 1, std::llround(units));
  }
}

std::vector<std::string> names_of(const std::string& joined) {
  std::vector<std::string> names;
  std::istringstream parts(joined);
  for (std::string name; std::getline(parts, name, '+');) {
    names.push_back(name);
  }
  return names;
}

std::vector<std::size_t> named_cuts(const std::vector<Site>& sites, const Options& options) {
  std::set<std::size_t> cuts;
  for (const std::string& name : names_of(options.cut)) {
    bool is_known = false;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (is_in_scope(sites[i].name, name)) {
        cuts.insert(i);
        is_known = true;
      }
    }
    std::set<std::string> known;
    for (const Site& site : sites) {
      known.insert(site.name);
    }
    require(is_known,
            "engine 'likelihood': there is no noise site in '{}' to cut at; there are: {}", name,
            fmt::join(known, ", "));
  }
  return {cuts.begin(), cuts.end()};
}

// The later one of equals: fewer ops are behind it.
std::vector<std::size_t> narrowest(const std::vector<Site>& sites, std::int64_t count) {
  std::vector<std::size_t> order(sites.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return width_of(sites[i]); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  std::ranges::sort(order);
  return order;
}

// A value of this size is large enough for products at full speed, and small enough for the caches
// of a few cores.
constexpr std::int64_t kBytesAtOnce = std::int64_t{1} << 21;
constexpr std::int64_t kExamples = 128;  // what a size counts as that only a run tells

std::int64_t bytes_of(Var value) {
  std::int64_t elements = 1;
  for (Dim size : value.shape()) {
    elements *= size.is_constant() ? size.constant() : kExamples;
  }
  return elements * static_cast<std::int64_t>(size_of(value.dtype()));
}

}  // namespace

std::int64_t copies_at_once(Op op, const Options& options) {
  if (options.at_once > 0 || options.baseline == Baseline::leave_one_out) {
    return options.at_once;
  }
  std::int64_t largest = 1;
  const auto see = [&](Var value) { largest = std::max(largest, bytes_of(value)); };
  for (Op inner : schedule_region(op.graph(), op.regions()[0])) {
    std::ranges::for_each(inner.outputs(), see);
  }
  if (options.mode == Mode::weights || options.mode == Mode::forward) {
    std::ranges::for_each(op.inputs(), see);
  }
  const std::int64_t unit = options.antithetic ? 2 : 1;
  const std::int64_t most = std::max(kBytesAtOnce / largest, unit);
  std::int64_t at_once = options.copies;
  while (at_once > most && at_once % (2 * unit) == 0) {
    at_once /= 2;
  }
  return at_once == options.copies ? 0 : at_once;
}

std::int64_t width_of(const Site& site) {
  std::int64_t width = 1;
  for (Dim size : site.shape()) {
    width *= size.is_constant() ? size.constant() : 1;
  }
  return width;
}

std::vector<SiteGroup> choose_groups(Op op, const std::vector<Site>& sites,
                                     const Options& options) {
  std::vector<std::size_t> chosen(sites.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (options.mode == Mode::mixed && !options.cut.empty()) {
    chosen = named_cuts(sites, options);
  } else if (options.mode == Mode::mixed) {
    std::erase_if(chosen, [&](std::size_t i) { return has_slope_behind(op, sites[i], sites); });
    chosen = chosen.empty() ? narrowest(sites, options.cuts) : chosen;
  } else if (options.keeps_last && sites.size() > 1 && has_slope_behind(op, sites.back(), sites)) {
    chosen.pop_back();
  }
  if (options.mode == Mode::full) {
    return {{chosen, options.copies}};
  }
  std::vector<SiteGroup> groups;
  for (std::size_t site : chosen) {
    groups.push_back({{site}, options.copies});
  }
  divide_copies(op, sites, options, groups);
  return groups;
}

}  // namespace antichain::likelihood
