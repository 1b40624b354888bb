// TensorMemory: where tensors of a device lie, and how values get there and back.
#pragma once

#include "antichain/tensor/tensor.h"

namespace antichain {

class TensorMemory {
 public:
  virtual ~TensorMemory() = default;
  virtual Device device() const = 0;
  /// Allocates without initialising; throws DeviceError naming the size when there is no room.
  virtual Tensor allocate(DType dtype, const Shape& shape) const = 0;
  /// Returns the values in this device's memory: the tensor itself when it is there already.
  virtual Tensor to_device(const Tensor& tensor) const = 0;
  /// Returns the values in host memory: the tensor itself when it is there already.
  virtual Tensor to_host(const Tensor& tensor) const = 0;
  /// Copies the values of `from` into the memory of `to`; both have one dtype and shape, are packed
  /// unless both are in host memory, and lie here or in host memory.
  virtual void copy(const Tensor& to, const Tensor& from) const = 0;

  /// Returns a packed copy, on this device, of a packed tensor that is there.
  Tensor clone(const Tensor& tensor) const;
};

/// Returns the memory of the host.
const TensorMemory& host_memory();

}  // namespace antichain
