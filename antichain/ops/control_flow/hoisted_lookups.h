// Lookups that a chain's body makes in a parameter, taken out of it.
#pragma once

#include <optional>

#include "antichain/ops/control_flow/control_flow.h"

namespace antichain {

/// What a chain is made of: a body, its sequences and what it captures.
struct ChainParts {
  RegionId body;
  Vars xs, captures;
};

/// Returns a chain that equals this one and looks no rows of parameters up by a sequence: all rows
/// are looked up before it and are a further sequence. So the gradient of the table is one of
/// lookups and not a sum that a chain carries along, as long as the table
/// (docs/design/row_gradients.md). Returns nothing where there is no such lookup, or where the body
/// does more than to compute values.
std::optional<ChainParts> with_hoisted_lookups(Graph& graph, const Vars& states,
                                               const ChainParts& chain);

}  // namespace antichain
