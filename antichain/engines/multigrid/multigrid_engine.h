// Engine `multigrid`: chains over depth or time, forward and back, by multigrid cycles in which all
// intervals of steps are computed at once (layer-parallel training: Günther, Ruthotto, Schroder,
// Cyr and Gauger, 2020; recurrent networks: Moon and Cyr, 2022).
//
// The states of a chain are what solves u[n + 1] = Φ[n](u[n]); so are the gradients of the states,
// which are a chain from the last step to the first. Both are chains that name this engine, and it
// replaces each by cycles over grids of fewer and fewer steps (cycles.h) when it is compiled. The
// gradients of parameters follow from all of these at once.
// docs/design/multigrid.md says more.
#pragma once

#include <memory>

#include "antichain/autodiff/engine.h"
#include "antichain/tensor/device.h"

namespace antichain {

/// `device`: whose speed decides what is faster.
std::unique_ptr<GradientEngine> make_multigrid_engine(DeviceKind device = DeviceKind::cpu);

}  // namespace antichain
