#include "antichain/backends/cpu/cpu_backend.h"

#include "antichain/backends/cpu/blas_convolution.h"
#include "antichain/backends/cpu/blas_matmul.h"
#include "antichain/backends/cpu/onednn_kernels.h"
#include "antichain/backends/cpu/pooling_kernels.h"

namespace antichain {

namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend() {
    cpu::register_onednn_matmul(kernels_);
    cpu::register_blas_matmul(kernels_);
    cpu::register_onednn_convolution(kernels_);
    cpu::register_blas_convolution(kernels_);
    cpu::register_pooling(kernels_);
  }

  std::string_view name() const override { return "cpu"; }
  Device device() const override { return {}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    return Tensor::empty(dtype, shape);
  }
  Tensor to_device(const Tensor& tensor) const override { return to_host(tensor); }
  Tensor to_host(const Tensor& tensor) const override {
    tensor.require_host();
    return tensor;
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace antichain
