#include "antichain/engines/likelihood/copy_runs.h"

#include <unordered_map>

#include "antichain/engines/likelihood/noise_spread.h"
#include "antichain/engines/likelihood/site_region.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/elementwise/elementwise.h"
#include "antichain/ops/shape/creation.h"
#include "antichain/ops/shape/shape_ops.h"
#include "antichain/ops/vmap/vmap_region.h"

namespace antichain::likelihood {

namespace {

// The region with one more parameter for each noisy site, which takes its noise.
RegionId noisy_region(const NoisyRun& run, const Options& options) {
  Graph& graph = run.op.graph();
  RegionScope scope(graph);
  Vars arguments;
  for (Var input : run.op.inputs()) {
    arguments.push_back(scope.param(input.type()));
  }
  SiteHook hook;
  for (std::size_t i = 0; i < run.sites.size(); ++i) {
    hook.noise.push_back(run.noise[i] ? scope.param({run.sites[i].dtype(), run.sites[i].shape()})
                                      : Var());
  }
  hook.replace = [&](const AtSite& at) {
    Var noise = at.noise;
    if (options.masks_inactive && run.sites[at.site].is_before_relu) {
      noise = select(greater(at.value, 0), noise, 0);
    }
    return at.value + spread_noise(run.sites[at.site], at.spread, noise, options.sigma);
  };
  return scope.finish(SiteRegion(graph, run.op.regions()[0], arguments, run.sites, hook).results());
}

// What vmap_region does, with noise that is drawn only where it is added: that of one site at a
// time is in memory. The parameters behind the inputs take it, in the order of the noisy sites.
Var losses_with_noise(Graph& graph, RegionId region, std::span<const Mapped> inputs, Dim copies,
                      const std::function<Var(std::size_t)>& draw) {
  const Vars params = graph.vars(graph.region(region).params);
  std::unordered_map<VarId, Mapped> values;
  std::unordered_map<VarId, std::size_t> noise;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (i < inputs.size()) {
      values[params[i].id()] = {graph.capture(inputs[i].value), inputs[i].is_mapped};
    } else {
      noise[params[i].id()] = i - inputs.size();
    }
  }
  const auto value_of = [&](Var value) -> Mapped {
    const auto found = values.find(value.id());
    return found != values.end()
               ? found->second
               : values.emplace(value.id(), Mapped{draw(noise.at(value.id())), true}).first->second;
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
NoisyLosses losses_of(const NoisyRun& run, const Options& options, RegionId region, Var numbers) {
  Graph& graph = run.op.graph();
  std::vector<Mapped> inputs;
  for (Var input : run.op.inputs()) {
    inputs.push_back({input, false});
  }
  std::vector<std::size_t> noisy;
  for (std::size_t i = 0; i < run.sites.size(); ++i) {
    if (run.noise[i]) {
      noisy.push_back(i);
    }
  }
  const auto losses = [&](bool is_opposite) {
    return losses_with_noise(graph, region, inputs, numbers.dim(0), [&](std::size_t n) {
      const std::size_t site = noisy[n];
      const Var noise = run.noise[site]->draw(graph.capture(run.keys[site]), numbers).noise;
      return is_opposite ? -noise : noise;
    });
  };
  return {.plus = losses(false), .minus = options.antithetic ? losses(true) : Var()};
}

}  // namespace

Var all_copies(Graph& graph, std::int64_t draws) { return iota(graph, DType::i64, draws); }

ChainResult for_copies_in_turn(std::int64_t first, std::int64_t at_once, const Vars& sums,
                               const Vars& xs, Dim groups,
                               const std::function<StepResult(Var, const Vars&, const Vars&)>& body,
                               Graph& graph, Place place) {
  // The first copy is carried: what did not depend on the step before would be computed for all
  // steps at once.
  Vars carried = {scalar(graph, DType::i64, static_cast<double>(first))};
  carried.insert(carried.end(), sums.begin(), sums.end());
  const auto one_group = [&](Var, const Vars& states, const Vars& slices) -> StepResult {
    const Vars own(states.begin() + 1, states.end());
    StepResult found = body(states[0] + all_copies(graph, at_once), own, slices);
    found.states.insert(found.states.begin(), states[0] + at_once);
    return found;
  };
  ChainResult result = chain(carried, xs, one_group, {.length = groups}, place);
  result.last.erase(result.last.begin());
  return result;
}

NoisyLosses run_copies(const NoisyRun& run, const Options& options) {
  Graph& graph = run.op.graph();
  const RegionId region = noisy_region(run, options);
  const std::int64_t at_once = options.draws(options.at_once);
  if (at_once == 0 || at_once >= run.draws) {
    return losses_of(run, options, region, all_copies(graph, run.draws));
  }
  const std::int64_t groups = run.draws / at_once;
  const auto body = [&](Var numbers, const Vars&, const Vars&) -> StepResult {
    const NoisyLosses found = losses_of(run, options, region, numbers);
    return {{}, found.minus.valid() ? Vars{found.plus, found.minus} : Vars{found.plus}};
  };
  const Vars found =
      for_copies_in_turn(0, at_once, {}, {}, groups, body, graph, run.op.location()).ys;
  const auto joined = [&](Var of_groups) {
    return reshape(of_groups, {run.draws, of_groups.dim(2)});
  };
  return {.plus = joined(found[0]), .minus = found.size() > 1 ? joined(found[1]) : Var()};
}

}  // namespace antichain::likelihood
