// Deviations and covariances of noise that belong to the model.
#pragma once

#include "antichain/engines/likelihood/noise_sites.h"

namespace antichain::likelihood {

/// Returns noise of deviation 1 as it is added to a site: times sigma, or as `spread` says.
Var spread_noise(const Site& site, Var spread, Var noise, double sigma);
/// Returns the gradient by the value of a site, given that by its noise.
Var unspread(const Site& site, Var spread, Var gradient, double sigma);
/// Returns the gradient by `spread`, given what the copies say of it: SiteNoise::spread or moments.
Var spread_gradient(const Site& site, Var spread, Var sums);

}  // namespace antichain::likelihood
