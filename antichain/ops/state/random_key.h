// The check that random ops share.
#pragma once

#include "antichain/graph/infer_context.h"

namespace antichain {

/// Requires that input 0 is a key: i64[2].
void require_random_key(InferContext& context);

}  // namespace antichain
