// Memory with an owner: what tensors and their views share.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "antichain/tensor/device.h"

namespace antichain {

/// Owns `bytes` of memory on a device; gives them back by calling `release`, which must not throw.
class Buffer {
 public:
  Buffer(void* data, std::size_t bytes, Device device, std::function<void()> release);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

 private:
  void* data_;
  std::size_t bytes_;
  Device device_;
  std::function<void()> release_;
};

inline constexpr std::size_t kHostAlignment = 64;  // one cache line, one AVX-512 register

/// Allocates memory aligned to kHostAlignment; throws DeviceError naming the size if there is none.
std::shared_ptr<Buffer> allocate_host(std::size_t bytes);

}  // namespace antichain
