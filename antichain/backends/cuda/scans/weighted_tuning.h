// Chunks of weighted scans by measuring: estimates (weighted_choice.h) are for one kind of GPU, and
// a few percent off there, too.
#pragma once

#include <optional>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/backends/cuda/core/measured_choices.h"
#include "antichain/backends/cuda/scans/weighted_choice.h"

namespace antichain::cuda {

/// Returns the chunk that takes least of those around the estimated one. It is measured once and
/// remembered. The estimate itself where one walk is estimated to be faster than all, nothing can
/// be remembered, or the scan is so large that memory for trying would be missing elsewhere.
std::int64_t tuned_chunk(const Context& device, const WeightedForm& form,
                         const WeightedSizes& sizes);

/// Returns the chunk that was measured to be the fastest before, if one was.
std::optional<std::int64_t> remembered_chunk(const MeasuredChoices& choices,
                                             const WeightedForm& form, const WeightedSizes& sizes);

}  // namespace antichain::cuda
