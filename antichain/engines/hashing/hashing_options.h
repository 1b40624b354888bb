// What can be set about the engine `hashing`.
#pragma once

#include <cstdint>
#include <vector>

#include "antichain/autodiff/engine.h"
#include "antichain/base/settings.h"
#include "antichain/ops/hashing/active_units.h"
#include "antichain/ops/hashing/hash_functions.h"
#include "antichain/tensor/device.h"

namespace antichain::hashing {

enum class When { where_faster, always };

struct Options {
  DeviceKind device = DeviceKind::cpu;  // that computes the layer
  HashSpec spec;                        // pieces: 0 for as many as the number of units needs
  TableOptions tables;
  ActiveOptions active;  // active: 0 where `share`, or the number of units, says how many
  double share = 0;
  double drawn_share = 0;
  std::int64_t probes = 1;
  std::int64_t rehash = 0;   // steps from one hashing of rows to the next, at first
  double rehash_growth = 1;  // factor by which these steps become more each time
  bool rehash_all = false;   // all rows, not only used ones
  double drift = 0;          // share of codes that are out of date before rows are hashed; 0: any
  std::int64_t new_functions = 0;  // steps from one draw of functions to the next; 0: never
  RowUpdates updates = RowUpdates::ordered;
  bool hashed_inference = false;
  double inference_share = 0;  // of the units that are computed then; 0: as many as in training
  When when = When::where_faster;
};

/// What can be set; where nobody does, on a device of this kind, as its kernels are fastest.
std::vector<OptionSpec> option_specs(DeviceKind device);
Options read_options(const Settings& settings, DeviceKind device);

/// Returns the options for a layer: what follows from its size is filled in. Throws InvalidArgument
/// where tables cannot be made.
Options for_layer(Options options, std::int64_t units, std::int64_t features);

}  // namespace antichain::hashing
