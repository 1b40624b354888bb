// Engine `forward`: gradients without a backward sweep. The region is pushed forward along each
// unit vector of its inputs, and the resulting tangents are multiplied with the output gradients.
// Exact, no stored trajectory; the work grows with the number of input elements, so it is for few
// parameters.
#pragma once

#include <memory>

#include "antichain/autodiff/engine.h"

namespace antichain {

std::unique_ptr<GradientEngine> make_forward_engine();

}  // namespace antichain
