// Which axis of an input counts what an axis of the output counts.
#pragma once

#include <optional>

#include "antichain/graph/graph.h"

namespace antichain::likelihood {

/// Returns the axis of an input such that a position of it reaches the outputs of the op at the
/// same position of `axis` alone, as the examples of a batch do not mix; none where there is no
/// such axis, or where it is not known. Statistics of batches count as constants.
std::optional<int> axis_before(Op op, int input, int axis);

}  // namespace antichain::likelihood
