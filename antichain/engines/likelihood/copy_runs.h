// Runs of a region with noise at some sites, for many copies.
#pragma once

#include <functional>
#include <vector>

#include "antichain/engines/likelihood/likelihood_options.h"
#include "antichain/engines/likelihood/site_noise.h"
#include "antichain/ops/control_flow/control_flow.h"

namespace antichain::likelihood {

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

/// Returns the numbers of all copies.
Var all_copies(Graph& graph, std::int64_t draws);
/// Calls `body(numbers, sums, xs)` for groups of `at_once` copies from `first` on, with the sums
/// that it carries and slices of xs, which count groups. No group begins before the one before it
/// has ended, so that one at a time is in memory.
ChainResult for_copies_in_turn(
    std::int64_t first, std::int64_t at_once, const Vars& sums, const Vars& xs, Dim groups,
    const std::function<StepResult(Var numbers, const Vars& sums, const Vars& xs)>& body,
    Graph& graph, Place place);

}  // namespace antichain::likelihood
