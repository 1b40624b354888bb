// Ops that walk along one axis: argmin, argmax, cumsum. Declared to users by
// antichain/ops/rows/reduce.h.
#pragma once

#include <vector>

#include "antichain/graph/op_def.h"

namespace antichain {

std::vector<const OpDef*> along_axis_family();

}  // namespace antichain
