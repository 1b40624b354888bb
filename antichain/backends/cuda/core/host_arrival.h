// Values that go from the GPU to the host while nobody waits: futures.
#pragma once

#include <memory>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/runtime/backend.h"

namespace antichain::cuda {

/// Enqueues the copy of a packed tensor of this GPU; returns null where it does not fit into a
/// piece of pinned memory.
std::unique_ptr<Arrival> send_to_host(const Context& context, const Tensor& tensor);

}  // namespace antichain::cuda
