#include "antichain/engines/likelihood/site_region.h"

#include <algorithm>

#include "antichain/engines/likelihood/clean_values.h"
#include "antichain/graph/traversal.h"
#include "antichain/ops/control_flow/control_flow.h"
#include "antichain/ops/rows/normalization.h"

namespace antichain::likelihood {

SiteRegion::SiteRegion(Graph& graph, RegionId region, std::span<const Var> arguments,
                       const std::vector<Site>& sites, const SiteHook& hook)
    : graph_(graph),
      region_(region),
      sites_(sites),
      hook_(hook),
      cloner_(graph, graph),
      shown_(sites.size()),
      spreads_(sites.size()) {
  hook_.noise.resize(sites.size());
  hook_.shows.resize(sites.size());
  const std::vector<Var> params = graph.vars(graph.region(region).params);
  ensure(params.size() == arguments.size(), "a region with {} parameters gets {} arguments",
         params.size(), arguments.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    cloner_.map(params[i], graph.capture(arguments[i]));
  }
  for (Op op : schedule_region(graph, region)) {
    copy(op);
  }
}

std::vector<Var> SiteRegion::results() const {
  return cloner_(graph_.vars(graph_.region(region_).results));
}

void SiteRegion::copy(Op op) {
  const bool has_sites = std::ranges::any_of(
      sites_, [op](const Site& site) { return site.chain.valid() && site.chain == op; });
  if (has_sites) {
    copy_chain(op);
    return;
  }
  if (hook_.statistics && has_noise_ && &op.def() == &batch_norm_def()) {
    copy_with_statistics(op);
  } else {
    copy_as_part(cloner_, op);
  }
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const Site& site = sites_[i];
    if (site.chain.valid() || !(site.value.producer() == op) || !is_touched(i)) {
      continue;
    }
    const Var value = cloner_(site.value);
    shown_[i] = hook_.shows[i] ? value : Var();
    spreads_[i] = site.spread.valid() ? cloner_(site.spread) : Var();
    if (hook_.reached && hook_.shows[i]) {
      hook_.reached(*this, {i});
    }
    if (hook_.computes_again) {
      copy_layer_again(site.value);
    }
    has_noise_ = has_noise_ || hook_.noise[i].valid();
    cloner_.map(site.value, hook_.replace({i, cloner_(site.value), hook_.noise[i], spreads_[i]}));
  }
}

void SiteRegion::copy_with_statistics(Op op) {
  const Var mean = hook_.statistics(op.output(1)), variance = hook_.statistics(op.output(2));
  const Vars in = cloner_(op.inputs());
  cloner_.map(op.output(0), batch_norm_inference(in[0], in[1], in[2], mean, variance,
                                                 op.attrs().get<double>("epsilon"),
                                                 op.attrs().get<std::int64_t>("axis")));
  cloner_.map(op.output(1), mean);
  cloner_.map(op.output(2), variance);
}

// The ops from a product to the value of its layer, once more: what was built meanwhile runs first,
// while the values in front of the product are there and those behind it are not.
void SiteRegion::copy_layer_again(Var value) {
  const Op op = value.producer();
  if (!op.regions().empty()) {
    return;
  }
  if (!is_product(op)) {
    for (Var input : op.inputs()) {
      if (!graph_.is_region_param(input) && is_product(input.producer())) {
        copy_layer_again(input);
      }
    }
  }
  const Op again =
      graph_.add(op.def(), cloner_(op.inputs()), op.attrs(), {}, op.location(), Sharing::none);
  for (int i = 0; i < op.num_outputs(); ++i) {
    cloner_.map(op.output(i), again.output(i));
  }
}

// The deviation of a site in a chain, as it is outside.
Var SiteRegion::outer_spread(std::size_t site, Op chain) const {
  const ChainLayout layout(chain);
  const std::vector<VarId>& params = graph_.region(chain.regions()[0]).params;
  for (int i = layout.first_captured(); i < chain.num_inputs(); ++i) {
    if (params[static_cast<std::size_t>(1 + i)] == sites_[site].spread.id()) {
      return cloner_(chain.input(i));
    }
  }
  fail<NotSupported>(
      "engine 'likelihood': the spread of the noise site in '{}' is computed within the steps of a "
      "chain; compute it outside",
      sites_[site].scope);
}

// A chain whose steps take their noise as one more sequence, and hand out the values shown.
void SiteRegion::copy_chain(Op op) {
  const ChainLayout layout(op);
  const Vars inputs = cloner_(op.inputs());
  Vars states(inputs.begin(), inputs.begin() + layout.states),
      xs(inputs.begin() + layout.states, inputs.begin() + layout.first_captured());
  std::vector<std::size_t> noise_at(sites_.size());
  std::vector<Site> inner = sites_;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const bool is_here = sites_[i].chain.valid() && sites_[i].chain == op;
    inner[i].chain = is_here ? Op() : op;  // to the body its sites are those of a region
    if (is_here && hook_.noise[i].valid()) {
      noise_at[i] = xs.size();
      xs.push_back(hook_.noise[i]);
      has_noise_ = true;
    }
    if (is_here && sites_[i].spread.valid()) {
      spreads_[i] = outer_spread(i, op);
    }
  }
  std::vector<std::size_t> shown;
  const auto body = [&](Var step, const Vars& s, const Vars& x) -> StepResult {
    Vars arguments = {step};
    arguments.insert(arguments.end(), s.begin(), s.end());
    arguments.insert(arguments.end(), x.begin(), x.begin() + layout.xs);
    arguments.insert(arguments.end(), inputs.begin() + layout.first_captured(), inputs.end());
    SiteHook hook{.shows = std::vector<bool>(sites_.size()), .replace = hook_.replace};
    hook.noise.resize(sites_.size());
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      if (!inner[i].chain.valid()) {
        hook.shows[i] = hook_.shows[i];
        hook.noise[i] = hook_.noise[i].valid() ? x[noise_at[i]] : Var();
      }
    }
    const SiteRegion one_step(graph_, op.regions()[0], arguments, inner, hook);
    const Vars after = one_step.results();
    StepResult result{{after.begin(), after.begin() + layout.states},
                      {after.begin() + layout.states, after.end()}};
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      if (one_step.shown(i).valid()) {
        shown.push_back(i);
        result.ys.push_back(one_step.shown(i));
      }
    }
    return result;
  };
  const ChainResult found = chain(states, xs, body,
                                  {.engine = own_choice(op),
                                   .reverse = op.attrs().get<bool>("reverse"),
                                   .length = op.attrs().get<Dim>("length")},
                                  op.location());
  for (int i = 0; i < layout.states; ++i) {
    cloner_.map(op.output(i), found.last[static_cast<std::size_t>(i)]);
    cloner_.map(op.output(layout.first_before() + i), found.before[static_cast<std::size_t>(i)]);
  }
  for (int i = 0; i < layout.ys; ++i) {
    cloner_.map(op.output(layout.first_y() + i), found.ys[static_cast<std::size_t>(i)]);
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    shown_[shown[i]] = found.ys[static_cast<std::size_t>(layout.ys) + i];
  }
  if (hook_.reached && !shown.empty()) {
    hook_.reached(*this, shown);
  }
}

}  // namespace antichain::likelihood
