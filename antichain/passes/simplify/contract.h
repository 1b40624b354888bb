// The pass that lets a * b + c inside of fused ops round once instead of twice: with fast-math
// alone, because bits change. Generated code then has fused multiply-adds.
#pragma once

#include "antichain/passes/graph_copy.h"

namespace antichain {

/// Copies, with `contract` set on every `fused` and `fused_product`.
GraphCopy contract(const GraphCopy& source);

}  // namespace antichain
