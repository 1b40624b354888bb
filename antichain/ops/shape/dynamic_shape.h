// Inference for ops whose target shape is computed in the graph.
#pragma once

#include "antichain/graph/infer_context.h"

namespace antichain {

/// Infers ops with inputs (x, shape): sizes that are known now as they are, the others found by the
/// run.
std::vector<VarType> infer_to_dynamic_shape(InferContext& context);

}  // namespace antichain
