// What recipes of residual networks as discretised differential equations share.
#pragma once

#include <string>
#include <vector>

#include "antichain/nn/residual.h"
#include "recipes/recipe.h"

namespace antichain {

/// Returns the options of the residual layers: depth, time, activation, first weights, the
/// regularisation of weights over time, and nested iteration.
std::vector<OptionSpec> residual_options(const std::string& layers, const std::string& time);

/// Returns what a model's residual layers are built with: an explicit Euler step of time / layers
/// each. They are called "residual".
nn::ResidualOptions residual_layers(const Settings& settings);

/// Returns the regularisation of the residual layers and of the linear layer "closing", in which
/// h = time / layers: tikhonov/2 |θ|² + smoothness/2 Σ |(θ[n] - θ[n - 1]) / h|² + closing/2 |W|²;
/// none where all factors are 0.
Var regularisation(const ModelContext& context);

}  // namespace antichain
