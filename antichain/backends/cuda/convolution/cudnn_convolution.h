// CudnnConvolution: a convolution or one of its gradients at certain sizes, planned by
// cuDNN, or as products of columns.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "antichain/backends/cuda/convolution/convolution_way.h"
#include "antichain/backends/cuda/convolution/cudnn_handle.h"
#include "antichain/backends/cuda/core/device_context.h"
#include "antichain/backends/cuda/products/blas_product.h"

namespace antichain::cuda {

/// The library on one GPU.
class CudnnLibrary {
 public:
  /// With `tf32`, convolutions of f32 values may round their factors to 11 bits.
  CudnnLibrary(Context context, bool tf32);

  cudnnHandle_t handle() const { return handle_.get(); }
  const Context& context() const { return context_; }
  bool tf32() const { return tf32_; }
  /// Returns what multiplies columns.
  const std::shared_ptr<const BlasLibrary>& products() const { return products_; }
  /// Returns a plan that a convolution has which is in use, or null: blocks of a network repeat the
  /// same problems, and a plan may take seconds to make.
  std::shared_ptr<ConvolutionWay> known_plan(const std::string& problem) const;
  /// Lets other convolutions have it, too. It must not hold memory that it works in.
  void keep_plan(const std::string& problem, const std::shared_ptr<ConvolutionWay>& plan) const;

 private:
  Context context_;
  bool tf32_;
  std::shared_ptr<const BlasLibrary> products_;
  CudnnHandle handle_;
  mutable std::mutex plans_mutex_;
  mutable std::map<std::string, std::weak_ptr<ConvolutionWay>> plans_;
};

/// Allocates what a way to convolve works in.
std::shared_ptr<Buffer> make_workspace(const Context& context, const ConvolutionWay& way);

class CudnnConvolution {
 public:
  /// Throws DeviceError when the library has no deterministic way to compute it.
  CudnnConvolution(std::shared_ptr<const CudnnLibrary> library, const ConvProblem& problem);
  ~CudnnConvolution();
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;

  /// Enqueues it.
  void run(const void* x, const void* weight, const void* output) const;

 private:
  std::shared_ptr<const CudnnLibrary> library_;
  std::shared_ptr<ConvolutionWay> way_;
  // Its own: convolutions may run at the same time, and some wait for what they leave there.
  std::shared_ptr<Buffer> workspace_;
};

}  // namespace antichain::cuda
