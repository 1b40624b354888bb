#include "antichain/engines/likelihood/copy_runs.h"

#include <algorithm>
#include <unordered_map>

#include "antichain/engines/likelihood/clean_values.h"
#include "antichain/engines/likelihood/copy_sums.h"
#include "antichain/engines/likelihood/noise_spread.h"
#include "antichain/engines/likelihood/site_region.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/state/state_ops.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain::likelihood {

namespace {

using OfCopies = std::function<Mapped(Var numbers, CleanValues& clean)>;

// A region with parameters behind those for the inputs, and what they take in a run: noise, and
// values without noise. These are found when they are needed: those of one site at a time are in
// memory.
struct NoisyRegion {
  RegionId region = {};
  std::vector<OfCopies> suppliers = {};
};

// Where there is noise in front of a site, the relu behind it shows what is inactive of a run with
// noise. The mask is that of the clean run, which the estimate is taken with, too.
bool needs_clean_mask(const NoisyRun& run, std::size_t site, const Options& options) {
  return is_masked(run.sites[site], options) &&
         std::ranges::count_if(run.noise, [](const auto& n) { return n.has_value(); }) > 1;
}

NoisyRegion noisy_region(const NoisyRun& run, const Options& options) {
  Graph& graph = run.op.graph();
  RegionScope scope(graph);
  NoisyRegion noisy;
  Vars arguments, masks(run.sites.size());
  for (Var input : run.op.inputs()) {
    arguments.push_back(scope.param(input.type()));
  }
  SiteHook hook;
  for (std::size_t i = 0; i < run.sites.size(); ++i) {
    const Site& site = run.sites[i];
    hook.noise.push_back(run.noise[i] ? scope.param({site.dtype(), site.shape()}) : Var());
    if (!run.noise[i]) {
      continue;
    }
    noisy.suppliers.push_back([&run, &graph, i](Var numbers, CleanValues&) -> Mapped {
      return {run.noise[i]->draw(graph.capture(run.keys[i]), numbers).noise, true};
    });
    if (needs_clean_mask(run, i, options)) {
      masks[i] = scope.param({DType::boolean, site.shape()});
      noisy.suppliers.push_back([&site](Var, CleanValues& clean) -> Mapped {
        return {greater(clean(site.value), 0), false};
      });
    }
  }
  hook.statistics = [&](Var statistic) {
    noisy.suppliers.push_back([statistic](Var, CleanValues& clean) -> Mapped {
      return {clean(statistic), false};
    });
    return scope.param(statistic.type());
  };
  hook.replace = [&](const AtSite& at) {
    Var noise = at.noise;
    if (is_masked(run.sites[at.site], options)) {
      const Var mask = masks[at.site];
      noise = select(mask.valid() ? mask : greater(at.value, 0), noise, 0);
    }
    return at.value + spread_noise(run.sites[at.site], at.spread, noise, options.sigma);
  };
  noisy.region =
      scope.finish(SiteRegion(graph, run.op.regions()[0], arguments, run.sites, hook).results());
  return noisy;
}

// What vmap_region does, with values that are found only where they are used.
Var losses_with_noise(Graph& graph, RegionId region, std::span<const Mapped> inputs, Dim copies,
                      const std::function<Mapped(std::size_t)>& supply) {
  const Vars params = graph.vars(graph.region(region).params);
  std::unordered_map<VarId, Mapped> values;
  std::unordered_map<VarId, std::size_t> supplied;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (i < inputs.size()) {
      values[params[i].id()] = {graph.capture(inputs[i].value), inputs[i].is_mapped};
    } else {
      supplied[params[i].id()] = i - inputs.size();
    }
  }
  const auto value_of = [&](Var value) -> Mapped {
    const auto found = values.find(value.id());
    return found != values.end()
               ? found->second
               : values.emplace(value.id(), supply(supplied.at(value.id()))).first->second;
  };
  for (Op op : schedule_region(graph, region)) {
    std::vector<Mapped> arguments;
    for (Var input : op.inputs()) {
      arguments.push_back(value_of(input));
    }
    const std::vector<Mapped> outputs = vmap_op(op, arguments, copies);
    for (int i = 0; i < op.num_outputs(); ++i) {
      values[op.output(i).id()] = outputs[static_cast<std::size_t>(i)];
    }
  }
  const Var losses = graph.var(graph.region(region).results[0]);
  return with_mapped_axis(value_of(losses), losses.shape(), copies);
}

// Losses of the copies with these numbers, [copies, examples].
NoisyLosses losses_of(const NoisyRun& run, const Options& options, const NoisyRegion& noisy,
                      Var numbers) {
  Graph& graph = run.op.graph();
  std::vector<Mapped> inputs;
  for (Var input : run.op.inputs()) {
    inputs.push_back({input, false});
  }
  const bool is_in_turn = !CopySplit{run.draws, options.draws(options.at_once)}.is_whole();
  // Behind `before` the clean run is computed once more, next to the run with noise, instead of
  // being kept for it.
  const auto losses = [&](bool is_opposite, Var before) {
    Vars arguments;
    for (Var input : run.op.inputs()) {
      const Var own = graph.capture(input);
      arguments.push_back(is_in_turn ? after_writes(own, {before}) : own);
    }
    CleanValues clean(graph, run.op.regions()[0], arguments);
    return losses_with_noise(graph, noisy.region, inputs, numbers.dim(0), [&](std::size_t n) {
      Mapped found = noisy.suppliers[n](numbers, clean);
      found.value = is_opposite && found.is_mapped ? -found.value : found.value;
      return found;
    });
  };
  const Var plus = losses(false, numbers);
  return {.plus = plus, .minus = options.antithetic ? losses(true, plus) : Var()};
}

}  // namespace

bool is_masked(const Site& site, const Options& options) {
  return options.masks_inactive && site.is_before_relu && !site.chain.valid();
}

NoisyLosses run_copies(const NoisyRun& run, const Options& options) {
  Graph& graph = run.op.graph();
  const NoisyRegion region = noisy_region(run, options);
  const Vars found = join_copies(
      graph, {run.draws, options.draws(options.at_once)},
      [&](Var numbers) -> Vars {
        const NoisyLosses losses = losses_of(run, options, region, numbers);
        return losses.minus.valid() ? Vars{losses.plus, losses.minus} : Vars{losses.plus};
      },
      run.op.location());
  return {.plus = found[0], .minus = found.size() > 1 ? found[1] : Var()};
}

}  // namespace antichain::likelihood
