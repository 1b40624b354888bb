// A region built again with something done at its noise sites.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "antichain/engines/likelihood/noise_sites.h"
#include "antichain/graph/clone.h"

namespace antichain::likelihood {

/// What is known at a site while the region is built.
struct AtSite {
  std::size_t site;
  Var value;
  Var noise;   // of this step; none where the site has none
  Var spread;  // log_sigma or a factor; none where it has none
};

class SiteRegion;

struct SiteHook {
  std::vector<Var> noise = {};   // by site, of all steps; none: the site is left as it is
  std::vector<bool> shows = {};  // by site: whether its value is wanted, as it was before `replace`
  /// Returns what takes the place of the value of a site that has noise or is shown.
  std::function<Var(const AtSite&)> replace;
  /// Called with sites as soon as their values of all steps are there: one of the region, or those
  /// of a chain. May be none.
  std::function<void(const SiteRegion&, const std::vector<std::size_t>& sites)> reached = {};
  /// Returns what takes the place of the statistics of a batch norm. May be none: they stay.
  std::function<Var(Var statistic)> statistics = {};
  bool computes_again = false;  // values of sites behind what `reached` builds
};

/// Builds the ops of a region in the current region, with `arguments` for its parameters.
class SiteRegion {
 public:
  SiteRegion(Graph& graph, RegionId region, std::span<const Var> arguments,
             const std::vector<Site>& sites, const SiteHook& hook);

  std::vector<Var> results() const;
  /// Returns the value of a shown site, of all steps.
  Var shown(std::size_t site) const { return shown_[site]; }
  /// Returns what spreads the noise of a site.
  Var spread(std::size_t site) const { return spreads_[site]; }
  /// Returns what stands for a value of the region itself.
  Var operator()(Var original) const { return cloner_(original); }

 private:
  bool is_touched(std::size_t site) const { return hook_.noise[site].valid() || hook_.shows[site]; }
  void copy(Op op);
  void copy_chain(Op op);
  void copy_with_statistics(Op op);
  void copy_layer_again(Var value);
  Var outer_spread(std::size_t site, Op chain) const;

  Graph& graph_;
  RegionId region_;
  const std::vector<Site>& sites_;
  SiteHook hook_;
  Cloner cloner_;
  bool has_noise_ = false;  // at a site that has been passed
  std::vector<Var> shown_, spreads_;
};

}  // namespace antichain::likelihood
