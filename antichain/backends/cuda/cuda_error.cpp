#include "antichain/backends/cuda/cuda_error.h"

#include "antichain/base/error.h"

namespace antichain::cuda {

namespace {

// What to do about errors that are not the program's own.
std::string_view advice(cudaError_t status) {
  switch (status) {
    case cudaErrorDevicesUnavailable: return "; another program may hold the GPU, see nvidia-smi";
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorDeviceUninitialized:
      return "; the GPU is lost to this process: start it again and resume from the last "
             "checkpoint";
    default: return "";
  }
}

}  // namespace

void check(cudaError_t status, std::string_view doing) {
  if (status != cudaSuccess) {
    cudaGetLastError();  // or the next call would report this error again
    fail<DeviceError>("the GPU failed while {}: {}{}", doing, cudaGetErrorString(status),
                      advice(status));
  }
}

void require_device(int index) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {  // the runtime says so also where there is none
    fail<DeviceError>(
        "device 'cuda:{}' is not available: there is no NVIDIA driver, or it is older "
        "than CUDA {}.{} needs",
        index, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  }
  if (status != cudaSuccess && status != cudaErrorNoDevice) {
    fail<DeviceError>("device 'cuda:{}' is not available: {}{}", index, cudaGetErrorString(status),
                      advice(status));
  }
  require<DeviceError>(index < count,
                       "device 'cuda:{}' is not available: this machine has {} GPU{}", index,
                       count == 0 ? "no" : std::to_string(count), count == 1 ? "" : "s");
}

}  // namespace antichain::cuda
