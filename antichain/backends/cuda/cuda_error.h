// What goes wrong on a GPU, in one sentence.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace antichain::cuda {

/// Throws DeviceError unless a call of CUDA succeeded; `doing` completes "while ...".
void check(cudaError_t status, std::string_view doing);

/// Throws DeviceError, naming what the driver says, unless there is a GPU of this number.
void require_device(int index);

}  // namespace antichain::cuda
