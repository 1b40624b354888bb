// A backend's memory that is the host's and says that it is elsewhere: every function of the host
// that looks at values refuses it.
#pragma once

#include <memory>

#include "antichain/runtime/backend.h"

namespace antichain::conformance {

class FarMemoryBackend : public Backend {
 public:
  Device device() const override { return {DeviceKind::cuda, 0}; }
  Tensor allocate(DType dtype, const Shape& shape) const override {
    const std::shared_ptr<Buffer> memory = Tensor::empty(dtype, shape).buffer();
    return Tensor(dtype, shape, contiguous_strides(shape), 0,
                  std::make_shared<Buffer>(memory->data(), memory->bytes(), device(), [memory] {}));
  }
  Tensor to_device(const Tensor& tensor) const override {
    return tensor.device() == device() ? tensor
                                       : moved(tensor, allocate(tensor.dtype(), tensor.shape()));
  }
  Tensor to_host(const Tensor& tensor) const override {
    return tensor.device() == Device{}
               ? tensor
               : moved(tensor, Tensor::empty(tensor.dtype(), tensor.shape()));
  }
  void copy(const Tensor& to, const Tensor& from) const override { move(from, to); }

 private:
  /// Copies the bytes, now or when the device comes to it.
  virtual void move(const Tensor& from, const Tensor& to) const = 0;

  Tensor moved(const Tensor& from, const Tensor& to) const {
    move(from, to);
    return to;
  }
};

}  // namespace antichain::conformance
