// What the chains of a compiled graph keep for the way back, to tell people.
#pragma once

#include <cstdint>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

struct KeptStates {
  std::int64_t steps = 0;
  std::int64_t stored = 0;           // states before a step that are kept at one time, at most
  std::int64_t state_bytes = 0;      // of the states before one step
  std::int64_t evaluations = 0;      // how often a step is evaluated forwards, at most
  std::int64_t all_evaluations = 0;  // of all steps together
};
/// Returns it for every chain of the root region that is walked back along, where sizes are known.
std::vector<KeptStates> kept_states(Graph& graph, const DimEnv& sizes);

}  // namespace antichain
