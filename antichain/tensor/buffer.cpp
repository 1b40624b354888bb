#include "antichain/tensor/buffer.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "antichain/base/out_of_memory.h"

namespace antichain {

Buffer::Buffer(void* data, std::size_t bytes, Device device, std::function<void()> release)
    : data_(data), bytes_(bytes), device_(device), release_(std::move(release)) {
  require(data != nullptr || bytes == 0,
          "a buffer of {} bytes needs memory, but its address is null", bytes);
}

Buffer::Buffer(Device device) : data_(nullptr), bytes_(PTRDIFF_MAX), device_(device) {}

Buffer::~Buffer() {
  if (release_) {
    release_();
  }
}

std::shared_ptr<Buffer> unbacked_buffer(Device device) { return std::make_shared<Buffer>(device); }

bool sole_owner(const std::shared_ptr<Buffer>& buffer) {
  // Reading the count orders nothing; letting go of a copy does.
  std::shared_ptr<Buffer>(buffer).reset();
  return buffer.use_count() == 1;
}

std::shared_ptr<Buffer> allocate_host(std::size_t bytes) {
  // More than PTRDIFF_MAX bytes cannot be addressed, and rounding them up could overflow.
  const bool addressable = bytes <= PTRDIFF_MAX - kHostAlignment;
  const std::size_t lines = bytes / kHostAlignment + 1;  // never 0, so that the address is not null
  std::unique_ptr<void, decltype(&std::free)> memory(
      addressable ? std::aligned_alloc(kHostAlignment, lines * kHostAlignment) : nullptr,
      &std::free);
  require<OutOfMemory>(memory != nullptr, "out of memory on cpu: cannot allocate {} bytes", bytes);
  auto buffer = std::make_shared<Buffer>(memory.get(), bytes, Device{},
                                         [data = memory.get()] { std::free(data); });
  static_cast<void>(memory.release());  // the buffer has it now
  return buffer;
}

}  // namespace antichain
