// Recordings as CUDA graphs.
#pragma once

#include <memory>

#include "antichain/backends/cuda/device_context.h"
#include "antichain/base/function_ref.h"
#include "antichain/runtime/backend.h"

namespace antichain::cuda {

/// Records what `run` enqueues on the stream of the context.
std::unique_ptr<Recording> record_graph(const Context& context, FunctionRef<void()> run);

}  // namespace antichain::cuda
