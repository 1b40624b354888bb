// When rows are hashed again, and what is written then.
#pragma once

#include "antichain/engines/hashing/hashed_layer.h"

namespace antichain::hashing {

/// Builds the writes of a layer's states that belong to a training step with these inputs of the
/// layer: counts the step, hashes rows where it is time to, and sorts the tables anew. With
/// `whole_steps`, nothing is left out where it is not due that a device would have to be asked for.
std::vector<Var> layer_updates(const WideLayer& layer, const HashedLayer& hashed,
                               const ActiveUnits& units, bool whole_steps);

}  // namespace antichain::hashing
