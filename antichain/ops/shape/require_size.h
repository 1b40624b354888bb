// The check of sizes that come as attributes.
#pragma once

#include <string_view>

#include "antichain/graph/infer_context.h"

namespace antichain {

/// Requires that `size`, called `what` in the message, is not negative; leaves the check to the run
/// when that is not known yet.
inline void require_size(InferContext& context, Dim size, std::string_view what) {
  require<ShapeError>(size.range().max >= 0, "{}: {} must not be negative, got {}",
                      context.op_name(), what, size.str());
  context.unify(max(size, 0), size, what);
}

}  // namespace antichain
