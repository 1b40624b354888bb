// Engine `hashing`: of wide layers, it computes, differentiates and updates the units that matter,
// which hash tables find (Chen et al., SLIDE, MLSys 2020). See docs/design/hashing.md.
#pragma once

#include <memory>

#include "antichain/autodiff/engine.h"

namespace antichain {

std::unique_ptr<GradientEngine> make_hashing_engine();

}  // namespace antichain
