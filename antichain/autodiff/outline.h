// Turning a part of a graph into a region.
#pragma once

#include <string>
#include <vector>

#include "antichain/graph/graph.h"

namespace antichain {

/// Builds a `call` op whose body is everything between xs and ys, for `engine` to differentiate.
/// Its first inputs are the xs, its outputs the ys; values that do not depend on the xs are
/// captured.
Op outline(const std::vector<Var>& ys, const std::vector<Var>& xs, const EngineChoice& engine);

enum class PartsOf { whole_way, behind_cut };  // GradOptions::at

/// Returns what equals the ys, computed through a `call` for every part of the model that the
/// graph's EnginePlan gives an engine and that has no region op to carry it. A part whose values
/// are needed in between by another one becomes several calls. Throws InvalidArgument if a part of
/// the plan is no part of the model. Behind a cut back-propagation takes the place of engines that
/// ask for the cut at the losses of the examples.
std::vector<Var> outline_parts(const std::vector<Var>& ys, const std::vector<Var>& xs,
                               PartsOf way = PartsOf::whole_way);

}  // namespace antichain
