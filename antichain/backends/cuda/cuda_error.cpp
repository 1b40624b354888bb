#include "antichain/backends/cuda/cuda_error.h"

#include "antichain/base/error.h"

namespace antichain::cuda {

namespace {

// What to do about errors that are not the program's own.
std::string_view advice(cudaError_t status) {
  switch (status) {
    case cudaErrorNoDevice: return "; use device 'cpu', or look at nvidia-smi";
    case cudaErrorInsufficientDriver: return "; install a newer NVIDIA driver, or use device 'cpu'";
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
  if (status != cudaSuccess) {
    cudaGetLastError();
    fail<DeviceError>("device 'cuda:{}' cannot be used: {}{}", index, cudaGetErrorString(status),
                      advice(status));
  }
  require<DeviceError>(index < count, "there is no device 'cuda:{}': this machine has {} GPU{}",
                       index, count, count == 1 ? "" : "s");
}

}  // namespace antichain::cuda
