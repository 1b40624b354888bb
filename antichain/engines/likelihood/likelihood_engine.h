// Engine `likelihood`: gradients from runs with noise, without a backward sweep (Peng et al., 2022;
// Jiang et al., "One Forward is Enough for Neural Network Training via Likelihood Ratio Method",
// ICLR 2024). See docs/design/likelihood.md.
#pragma once

#include <memory>
#include <string_view>

#include "antichain/autodiff/engine.h"

namespace antichain {

inline constexpr std::string_view kLikelihood = "likelihood";

std::unique_ptr<GradientEngine> make_likelihood_engine();

}  // namespace antichain
