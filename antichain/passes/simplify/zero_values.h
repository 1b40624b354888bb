// Values that are known to be zero in every element.
#pragma once

#include "antichain/graph/graph.h"

namespace antichain {

bool is_all_zero(Var value);

}  // namespace antichain
