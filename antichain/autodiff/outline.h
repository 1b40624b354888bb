// Turning a part of a graph into a region.
#pragma once

#include <string>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// Builds a `call` op whose body is everything between xs and ys, for `engine` to differentiate.
/// Its first inputs are the xs, its outputs the ys; values that do not depend on the xs are
/// captured.
Op outline(const std::vector<Var>& ys, const std::vector<Var>& xs, const std::string& engine);

}  // namespace antichain
