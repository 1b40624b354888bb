// Which sites are noisy in which runs, and in how many.
#pragma once

#include <cstdint>
#include <vector>

#include "antichain/engines/likelihood/likelihood_options.h"
#include "antichain/engines/likelihood/noise_sites.h"

namespace antichain::likelihood {

/// Sites that are noisy at once.
struct SiteGroup {
  std::vector<std::size_t> sites;
  std::int64_t copies;
};

/// Chooses the sites of a region op by mode. Throws InvalidArgument where `cut` names none.
std::vector<SiteGroup> choose_groups(Op op, const std::vector<Site>& sites, const Options& options);

/// Returns how many copies to compute at once: as the options say, or so many that a value of them
/// has a bounded size, however many there are. 0: all of them.
std::int64_t copies_at_once(Op op, const Options& options);

/// Returns the number of elements of a site for one example, where one symbolic size counts
/// examples.
std::int64_t width_of(const Site& site);

}  // namespace antichain::likelihood
