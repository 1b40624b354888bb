// Runs of a region with noise at some sites, for many copies.
#pragma once

#include <functional>
#include <vector>

#include "antichain/engines/likelihood/likelihood_options.h"
#include "antichain/engines/likelihood/site_noise.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::likelihood {

/// Returns whether a site has noise and a gradient only where the relu behind it hands them on.
/// What is active in a chain is the steps' own business: noise there is everywhere.
bool is_masked(const Site& site, const Options& options);

/// A region op with its sites, and the noise of those that are noisy together.
struct NoisyRun {
  Op op;
  const std::vector<Site>& sites;
  std::vector<std::optional<SiteNoise>> noise;  // by site; none: it has none in these runs
  std::vector<Var> keys;                        // by site
  std::int64_t draws;                           // one copy each, or an antithetic pair
};

/// The losses of the examples, [draws, examples].
struct NoisyLosses {
  Var plus, minus;  // with the noise, and with its opposite; none unless copies are paired
};
/// Builds the runs; as many copies at once as the options say, in a chain over what remains.
NoisyLosses run_copies(const NoisyRun& run, const Options& options);

}  // namespace antichain::likelihood
