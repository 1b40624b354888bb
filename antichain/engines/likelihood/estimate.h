// The gradient of a region whose outputs are the losses of examples, estimated at its noise sites
// and exact in between.
#pragma once

#include <vector>

#include "antichain/engines/likelihood/likelihood_options.h"
#include "antichain/engines/likelihood/noise_sites.h"
#include "antichain/graph/derivative_context.h"

namespace antichain::likelihood {

/// Returns the gradients of the region's inputs.
std::vector<Var> estimate_by_sites(VjpContext& context, const std::vector<Site>& sites,
                                   const Options& options);

}  // namespace antichain::likelihood
