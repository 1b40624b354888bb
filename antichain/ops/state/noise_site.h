// Places where the engine `likelihood` puts noise, named by the user.
#pragma once

#include "antichain/ops/operand.h"

namespace antichain {

/// Returns x. The engine `likelihood` estimates the gradient with respect to it from runs with
/// noise added here; nothing else sees it. Where a region has such sites, there are no others.
Var noise_site(const Operand& x);
/// Likewise, with noise of deviation exp(log_sigma) element by element: a number, or whatever else
/// broadcasts to x, one per unit for example. The engine differentiates the mean loss of the noisy
/// runs with respect to log_sigma, too, so it may be a parameter and is learned then. Without noise
/// nothing depends on it.
Var noise_site(const Operand& x, const Operand& log_sigma);

/// Likewise, with noise that is correlated along the last axis, of d elements: independent noise
/// times the transposed lower triangle of factor [d, d], whose diagonal must not be 0. The
/// covariance is factor · factorᵀ, a Cholesky factor of it; it may be learned, too.
Var noise_site_with_factor(const Operand& x, const Operand& factor);

const OpDef& noise_site_def();

std::vector<const OpDef*> noise_family();

}  // namespace antichain
