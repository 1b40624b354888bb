// From the op of a case to the public functions that build it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "antichain/ops/control_flow/control_flow.h"
#include "tests/peer/peer_case.h"

namespace antichain::peer {

/// Builds a case from its inputs and returns what is compared with the case's outputs.
using Builder = std::function<Vars(const Case&, const Vars& inputs)>;
using Builders = std::map<std::string, Builder>;

inline std::int64_t axis(const Case& c) { return c.get<std::int64_t>("axis"); }

Builders elementwise_builders();
Builders reduction_builders();
Builders moving_builders();
Builders indexing_builders();
Builders layer_builders();
Builders control_flow_builders();
Builders nn_builders();
Builders recurrent_builders();
Builders attention_builders();
Builders derivative_builders();
Builders optimiser_builders();

/// Returns all of them.
const Builders& all_builders();

}  // namespace antichain::peer
