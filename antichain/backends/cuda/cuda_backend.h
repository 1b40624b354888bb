// The CUDA backend: one NVIDIA GPU. What it has no kernel for runs on the host (runtime/backend.h).
#pragma once

#include <memory>

#include "antichain/runtime/backend.h"

namespace antichain {

struct CudaOptions {
  // Products and convolutions of f32 values may round their factors to 11 bits, which tensor cores
  // multiply several times as fast.
  bool tf32 = false;
};

/// Throws DeviceError when there is no such GPU or its driver does not answer.
std::unique_ptr<Backend> make_cuda_backend(int index, const CudaOptions& options = {});

}  // namespace antichain
