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
  /// Makes a buffer without memory: see unbacked_buffer.
  explicit Buffer(Device device);
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

/// Makes a buffer that only says where memory will be: tensors in it have a layout and no address.
std::shared_ptr<Buffer> unbacked_buffer(Device device);
/// Returns whether nobody else holds the buffer, so that its memory may be written. What others did
/// with it before they let go has happened before.
bool sole_owner(const std::shared_ptr<Buffer>& buffer);

inline constexpr std::size_t kHostAlignment = 64;  // one cache line, one AVX-512 register

/// Returns the bytes that a value takes with what lies between it and the next one.
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
}

/// Allocates memory aligned to kHostAlignment; throws DeviceError naming the size if there is none.
std::shared_ptr<Buffer> allocate_host(std::size_t bytes);

}  // namespace antichain
