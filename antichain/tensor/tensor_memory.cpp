#include "antichain/tensor/tensor_memory.h"

namespace antichain {

namespace {

class HostMemory final : public TensorMemory {
 public:
  Device device() const override { return {}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    return Tensor::empty(dtype, shape);
  }
  Tensor to_device(const Tensor& tensor) const override { return to_host(tensor); }
  Tensor to_host(const Tensor& tensor) const override {
    tensor.require_host();
    return tensor;
  }
  void copy(const Tensor& to, const Tensor& from) const override { to.copy_from(from); }
};

}  // namespace

Tensor TensorMemory::clone(const Tensor& tensor) const {
  Tensor result = allocate(tensor.dtype(), tensor.shape());
  copy(result, tensor);
  return result;
}

const TensorMemory& host_memory() {
  static const HostMemory memory;
  return memory;
}

}  // namespace antichain
