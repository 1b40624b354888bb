#include "antichain/tensor/buffer.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "antichain/base/out_of_memory.h"

namespace antichain {

namespace {

// Rows of a large table lie on a page each: with pages of 4 KiB, finding those takes longer than
// reading the rows. The kernel gives large pages to whoever asks, where it has some.
constexpr std::size_t kLargePage = std::size_t{2} << 20, kLargePagesFrom = std::size_t{32} << 20;

void ask_for_large_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#ifdef __linux__
  static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));
#endif
}

}  // namespace

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
  const bool is_large = bytes >= kLargePagesFrom;
  const std::size_t alignment = is_large ? kLargePage : kHostAlignment;
  const bool addressable = bytes <= PTRDIFF_MAX - alignment;
  const std::size_t lines = bytes / alignment + 1;  // never 0, so that the address is not null
  std::unique_ptr<void, decltype(&std::free)> memory(
      addressable ? std::aligned_alloc(alignment, lines * alignment) : nullptr, &std::free);
  require<OutOfMemory>(memory != nullptr, "out of memory on cpu: cannot allocate {} bytes", bytes);
  if (is_large) {
    ask_for_large_pages(memory.get(), lines * alignment);
  }
  auto buffer = std::make_shared<Buffer>(memory.get(), bytes, Device{},
                                         [data = memory.get()] { std::free(data); });
  static_cast<void>(memory.release());  // the buffer has it now
  return buffer;
}

}  // namespace antichain
