// The two ways to get gradients from runs forward that the engine is held against: noise on the
// parameters themselves.
#pragma once

#include <vector>

#include "antichain/engines/likelihood/likelihood_options.h"
#include "antichain/graph/derivative_context.h"

namespace antichain::likelihood {

/// Evolution strategies (Salimans et al., 2017; two-sided as in Spall, 1992): losses of runs with
/// noise on all parameters at once.
std::vector<Var> estimate_by_weights(VjpContext& context, const Options& options);
/// Forward gradients (Baydin et al., 2022): the derivative along random directions of all
/// parameters, by forward mode.
std::vector<Var> estimate_by_directions(VjpContext& context, const Options& options);

}  // namespace antichain::likelihood
