// The checks that random ops share.
#pragma once

#include "antichain/graph/infer_context.h"

namespace antichain {

/// Requires that input 0 is a key: i64[2].
void require_random_key(InferContext& context);
/// Requires that input 0 is a key or a list of keys: i64[2] or i64[keys, 2].
void require_random_keys(InferContext& context);

}  // namespace antichain
