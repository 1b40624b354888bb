// What goes wrong on a GPU, in one sentence.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

namespace antichain::cuda {

/// Throws DeviceError unless a call of CUDA succeeded; `doing` completes "while ...".
void check(cudaError_t status, std::string_view doing);

/// Throws DeviceError, naming what the driver says, unless there is a GPU of this number.
void require_device(int index);

/// Returns what check() says about an error.
std::string failure_text(cudaError_t status, std::string_view doing);

/// What the driver says about the GPUs of this machine.
struct DriverAnswer {
  cudaError_t status = cudaSuccess;
  int gpus = 0;
  int newest_cuda = 0;  // that it serves, as CUDART_VERSION; 0: there is no driver
};
/// Returns what require_device() says; nothing when there is a GPU of this number.
std::string missing_device_text(int index, const DriverAnswer& answer);

}  // namespace antichain::cuda
