// A handle of cuDNN, which takes memory of the GPU: destroyed also when its stream is refused.
#pragma once

#include <cudnn.h>

#include <memory>
#include <type_traits>

#include "antichain/backends/cuda/convolution/cudnn_descriptor.h"

namespace antichain::cuda {

struct DestroyCudnnHandle {
  decltype(&::cudnnDestroy) destroy;
  void operator()(cudnnHandle_t handle) const { static_cast<void>(destroy(handle)); }
};
using CudnnHandle = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, DestroyCudnnHandle>;

/// Makes one that works on a stream, by functions as those of `Cudnn`.
template <class Functions>
CudnnHandle make_cudnn_handle(const Functions& functions, cudaStream_t stream) {
  cudnnHandle_t made = nullptr;
  check(functions.cudnnCreate(&made), "starting cuDNN");
  CudnnHandle handle(made, {functions.cudnnDestroy});
  check(functions.cudnnSetStream(made, stream), "starting cuDNN");
  return handle;
}

}  // namespace antichain::cuda
