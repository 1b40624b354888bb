#include "antichain/runtime/foreign_tensor.h"

#include <dlpack/dlpack.h>

#include "antichain/tensor/dlpack.h"

namespace antichain {

Tensor from_dlpack(DLManagedTensor* managed, const Backend& backend, void* stream) {
  require(managed != nullptr, "DLPack handle is null");
  require(stream != nullptr,
          "a null pointer is no stream; give cudaStreamLegacy for the default one, or leave the "
          "stream out when the tensor is there already");
  const DLDevice device = managed->dl_tensor.device;
  require(device.device_type == kDLCUDA &&
              backend.device() == Device{DeviceKind::cuda, device.device_id},
          "a stream orders tensors of the backend's own device, {}", to_string(backend.device()));
  const Tensor taken = from_dlpack(managed);
  const Buffer& memory = *taken.buffer();
  auto ordered = std::make_shared<Buffer>(
      memory.data(), memory.bytes(), memory.device(),
      [memory = taken.buffer(), give_back = backend.order_after(stream)]() mutable {
        if (give_back) {
          give_back();
        }
        memory.reset();  // its own library may use it again
      });
  return Tensor(taken.dtype(), taken.shape(), taken.strides(), taken.offset(), std::move(ordered));
}

}  // namespace antichain
