// Engine `hashing`: of wide layers, it computes, differentiates and updates the units that matter,
// which hash tables find (Chen et al., SLIDE, MLSys 2020). See docs/design/hashing.md.
#pragma once

#include <functional>
#include <memory>

#include "antichain/autodiff/engine.h"
#include "antichain/tensor/device.h"

namespace antichain {

/// What the device of a session is like.
struct HashingDevice {
  DeviceKind kind = DeviceKind::cpu;  // whose speed decides what is faster
  bool takes_whole_steps = false;     // it is given them at once: nothing in them asks what is due
  /// Says whether it computes an op by itself; empty: all of them.
  std::function<Support(Op)> computes = {};
};

std::unique_ptr<GradientEngine> make_hashing_engine(HashingDevice device = {});

}  // namespace antichain
