// Estimates beside what back-propagation gives.
#pragma once

#include <cstdint>
#include <vector>

#include "antichain/graph/derivative_context.h"

namespace antichain::likelihood {

/// Returns the gradients, reporting the cosine of each with the exact gradient of the clean losses,
/// of the region's parameters that have one, every `interval` runs.
std::vector<Var> with_cosines(VjpContext& context, std::vector<Var> gradients,
                              std::int64_t interval);

}  // namespace antichain::likelihood
