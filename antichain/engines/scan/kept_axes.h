// Which axes of the states of a chain its steps keep apart.
#pragma once

#include "antichain/graph/graph.h"

namespace antichain::scan {

/// Returns how many leading axes of `params` the region keeps apart: the part of a result at an
/// index along them depends on the parts of the parameters at that index alone, as the examples of
/// a batch do not mix. Of element-wise steps these are all axes. The parameters and the results
/// that they become agree in shape; other parameters of the region count as constants.
int kept_axes(Graph& graph, RegionId region, const std::vector<Var>& params,
              const std::vector<Var>& results);

/// Returns how many leading axes of an input the op keeps apart in its outputs.
int axes_kept_by(Op op, int input);

}  // namespace antichain::scan
