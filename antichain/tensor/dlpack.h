// Exchange of tensors with other libraries without copying, by the DLPack 0.6 structures.
#pragma once

#include "antichain/tensor/tensor.h"

struct DLManagedTensor;  // of <dlpack/dlpack.h>

namespace antichain {

/// Returns a handle that shares the tensor's memory until the receiver calls its deleter.
///
/// DLPack 0.6 knows no bool: such tensors leave as 8-bit unsigned integers, 0 and 1.
DLManagedTensor* to_dlpack(const Tensor& tensor);

/// Returns a tensor that shares the handle's memory and calls its deleter with the last user gone.
///
/// Throws InvalidArgument, TypeError, ShapeError or NotSupported when the handle cannot be taken;
/// then it still belongs to the caller and its deleter was not called. As the structure does not
/// tell how much memory is behind it, shape and strides are trusted to stay inside. It is not
/// ordered after work that another library has enqueued on the memory: wait for that first, or name
/// its stream (antichain/runtime/foreign_tensor.h).
Tensor from_dlpack(DLManagedTensor* managed);

}  // namespace antichain
