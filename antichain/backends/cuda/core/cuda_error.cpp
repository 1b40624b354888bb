#include "antichain/backends/cuda/core/cuda_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "antichain/base/error.h"

namespace antichain::cuda {

namespace {

// After these every further call of the process fails.
constexpr std::string_view kLost =
    "the GPU is lost to this process: start it again and resume from the last checkpoint";
constexpr std::string_view kHeld = "another program may hold the GPU, see nvidia-smi";
constexpr std::string_view kNotReady =
    "the driver is not ready: wait or restart the machine, and see nvidia-smi";
constexpr std::string_view kDriver = "install the driver of this GPU anew, or restart the machine";

// What to do about errors that are not the program's own.
struct Advice {
  cudaError_t status;
  std::string_view text;
};
constexpr Advice kAdvice[] = {
    {cudaErrorInitializationError, kNotReady},
    {cudaErrorStartupFailure, kNotReady},
    {cudaErrorSystemNotReady, kNotReady},
    {cudaErrorDevicesUnavailable, kHeld},
    {cudaErrorSystemDriverMismatch, kDriver},
    {cudaErrorCompatNotSupportedOnDevice, kDriver},
    {cudaErrorNoKernelImageForDevice, "this GPU is too old or too new for this build"},
    {cudaErrorDeviceUninitialized, kLost},
    {cudaErrorECCUncorrectable, kLost},
    {cudaErrorNvlinkUncorrectable, kLost},
    {cudaErrorIllegalAddress, kLost},
    {cudaErrorLaunchTimeout, kLost},
    {cudaErrorAssert, kLost},
    {cudaErrorHardwareStackError, kLost},
    {cudaErrorIllegalInstruction, kLost},
    {cudaErrorMisalignedAddress, kLost},
    {cudaErrorInvalidAddressSpace, kLost},
    {cudaErrorInvalidPc, kLost},
    {cudaErrorLaunchFailure, kLost},
    {cudaErrorExternalDevice, kLost},
    {cudaErrorUnknown, kLost},
};

std::string description(cudaError_t status) {
  const Advice* const found = std::ranges::find(kAdvice, status, &Advice::status);
  const std::string_view text = found != std::end(kAdvice) ? found->text : "";
  return fmt::format("{}{}{}", cudaGetErrorString(status), text.empty() ? "" : "; ", text);
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string problem_of(const DriverAnswer& answer) {
  if (answer.newest_cuda == 0) {
    return "there is no NVIDIA driver on this machine";
  }
  if (answer.status == cudaErrorInsufficientDriver) {
    return fmt::format("its driver is too old, it serves CUDA {} and this build needs {}",
                       version_text(answer.newest_cuda), version_text(CUDART_VERSION));
  }
  if (answer.status != cudaSuccess && answer.status != cudaErrorNoDevice) {
    return description(answer.status);
  }
  return fmt::format("this machine has {} GPU{}",
                     answer.gpus == 0 ? "no" : std::to_string(answer.gpus),
                     answer.gpus == 1 ? "" : "s");
}

}  // namespace

std::string failure_text(cudaError_t status, std::string_view doing) {
  return fmt::format("the GPU failed while {}: {}", doing, description(status));
}

void check(cudaError_t status, std::string_view doing) {
  if (status != cudaSuccess) {
    cudaGetLastError();  // or the next call would report this error again
    throw DeviceError(failure_text(status, doing));
  }
}

std::string missing_device_text(int index, const DriverAnswer& answer) {
  if (answer.status == cudaSuccess && index < answer.gpus) {
    return {};
  }
  return fmt::format("device 'cuda:{}' is not available: {}", index, problem_of(answer));
}

void require_device(int index) {
  DriverAnswer answer;
  answer.status = cudaGetDeviceCount(&answer.gpus);
  if (cudaDriverGetVersion(&answer.newest_cuda) != cudaSuccess) {
    answer.newest_cuda = 0;
  }
  cudaGetLastError();  // or the next call would report what this one has told
  if (const std::string problem = missing_device_text(index, answer); !problem.empty()) {
    throw DeviceError(problem);
  }
}

}  // namespace antichain::cuda
