// Rows of different lengths that lie behind each other.
#pragma once

#include "antichain/graph/graph.h"

namespace antichain {

/// Returns the row (i64) of each of `count` elements, given where the rows start (from 0, not
/// decreasing; an empty row starts where the next one does).
Var row_of_each(Var starts, Dim count);

}  // namespace antichain
