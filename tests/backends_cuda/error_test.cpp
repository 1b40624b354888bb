// What is said when a GPU is missing or fails: told on any machine.
#include <gmock/gmock.h>

#include "antichain/backends/cuda/core/cuda_error.h"

namespace antichain::cuda::error_test {

using testing::EndsWith;
using testing::HasSubstr;

constexpr int kNewest = 99'000;  // CUDA 99.0: a driver that serves everything

TEST(CudaError, ThereMustBeADriver) {
  for (const cudaError_t status : {cudaErrorInsufficientDriver, cudaErrorNoDevice}) {
    EXPECT_EQ(missing_device_text(0, {.status = status}),
              "device 'cuda:0' is not available: there is no NVIDIA driver on this machine");
  }
}

TEST(CudaError, TheDriverMustBeNewEnough) {
  const std::string text =
      missing_device_text(1, {.status = cudaErrorInsufficientDriver, .newest_cuda = 11'080});
  EXPECT_THAT(text, testing::StartsWith("device 'cuda:1' is not available: its driver is too old, "
                                        "it serves CUDA 11.8 and this build needs "));
}

TEST(CudaError, ThereMustBeAGpuOfThatNumber) {
  EXPECT_EQ(missing_device_text(0, {.status = cudaErrorNoDevice, .newest_cuda = kNewest}),
            "device 'cuda:0' is not available: this machine has no GPUs");
  EXPECT_EQ(missing_device_text(1, {.gpus = 1, .newest_cuda = kNewest}),
            "device 'cuda:1' is not available: this machine has 1 GPU");
  EXPECT_EQ(missing_device_text(8, {.gpus = 8, .newest_cuda = kNewest}),
            "device 'cuda:8' is not available: this machine has 8 GPUs");
  EXPECT_EQ(missing_device_text(7, {.gpus = 8, .newest_cuda = kNewest}), "");
}

TEST(CudaError, ADriverThatDoesNotAnswerIsNamed) {
  for (const cudaError_t status :
       {cudaErrorInitializationError, cudaErrorStartupFailure, cudaErrorSystemNotReady,
        cudaErrorDevicesUnavailable, cudaErrorSystemDriverMismatch,
        cudaErrorCompatNotSupportedOnDevice, cudaErrorNoKernelImageForDevice}) {
    const std::string text = missing_device_text(0, {.status = status, .newest_cuda = kNewest});
    EXPECT_THAT(text, HasSubstr(std::string(cudaGetErrorString(status)) + "; "));
  }
}

TEST(CudaError, ALostGpuIsSaidToBeLost) {
  for (const cudaError_t status :
       {cudaErrorDeviceUninitialized, cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable,
        cudaErrorIllegalAddress, cudaErrorLaunchTimeout, cudaErrorAssert,
        cudaErrorHardwareStackError, cudaErrorIllegalInstruction, cudaErrorMisalignedAddress,
        cudaErrorInvalidAddressSpace, cudaErrorInvalidPc, cudaErrorLaunchFailure,
        cudaErrorExternalDevice, cudaErrorUnknown}) {
    const std::string text = failure_text(status, "running kernels");
    EXPECT_THAT(text, testing::StartsWith("the GPU failed while running kernels: "));
    EXPECT_THAT(text, EndsWith("the GPU is lost to this process: start it again and resume from "
                               "the last checkpoint"));
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(CudaError, OtherErrorsAreNamedAlone) {
  EXPECT_EQ(failure_text(cudaErrorInvalidValue, "copying memory"),
            "the GPU failed while copying memory: invalid argument");
}

}  // namespace antichain::cuda::error_test
