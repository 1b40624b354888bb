// What a recipe computes in: its option `precision`.
#pragma once

#include <string>
#include <vector>

#include "antichain/base/settings.h"
#include "antichain/tensor/dtype.h"

namespace antichain {

struct Precision {
  std::string name;          // as users write it
  DType dtype;               // of what goes through the network; parameters are f32 all the same
  bool tf32 = false;         // see SessionOptions
  bool scales_loss = false;  // or small gradients would be 0
};

/// What the loss is multiplied by at first; halved until the gradients fit into f16.
inline constexpr double kFirstLossScale = 65536;

/// Returns the option that chooses among the precisions there are.
OptionSpec precision_option();
/// Returns the one that was chosen.
const Precision& precision_of(const Settings& settings);

}  // namespace antichain
