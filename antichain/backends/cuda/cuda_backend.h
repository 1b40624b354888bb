// The CUDA backend: one NVIDIA GPU. What it has no kernel for runs on the host (runtime/backend.h).
#pragma once

#include <memory>

#include "antichain/runtime/backend.h"

namespace antichain {

/// Throws DeviceError when there is no such GPU or its driver does not answer.
std::unique_ptr<Backend> make_cuda_backend(int index);

}  // namespace antichain
