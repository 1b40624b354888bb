// Engine `backprop`: reverse mode by the ops' own rules.
#pragma once

#include <memory>

#include "antichain/autodiff/engine.h"

namespace antichain {

std::unique_ptr<GradientEngine> make_backprop_engine();

}  // namespace antichain
