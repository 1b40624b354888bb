// Tensors of other libraries that still compute them on a stream of their own.
#pragma once

#include "antichain/runtime/backend.h"

struct DLManagedTensor;  // of <dlpack/dlpack.h>

namespace antichain {

/// Does as from_dlpack (antichain/tensor/dlpack.h) for a tensor that was enqueued on `stream`, a
/// cudaStream_t of the backend's device: the backend reads it behind that, without anybody waiting,
/// and what is enqueued on the stream after the tensor's last user here has gone comes behind what
/// the backend was given until then. The stream must be there for as long as the tensor is. For the
/// default stream give cudaStreamLegacy, since a null pointer is no stream; throws InvalidArgument
/// then, and when the tensor lies on another device.
Tensor from_dlpack(DLManagedTensor* managed, const Backend& backend, void* stream);

}  // namespace antichain
