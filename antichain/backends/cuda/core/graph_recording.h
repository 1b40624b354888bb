// Recordings as CUDA graphs (stream capture).
#pragma once

#include <memory>

#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/base/function_ref.h"
#include "antichain/runtime/backend.h"

namespace antichain::cuda {

/// Records what run(step) enqueues on the stream of the context, as Backend::record says.
std::unique_ptr<Recording> record_graph(
    const Context& context, std::size_t count, FunctionRef<void(std::size_t step)> run,
    FunctionRef<std::vector<std::size_t>(std::size_t step)> needs);

}  // namespace antichain::cuda
