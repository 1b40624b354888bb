#include "antichain/backends/cpu/threads/thread_scratch.h"

#include <array>
#include <cstring>
#include <memory>
#include <new>

namespace antichain::cpu {

namespace {

constexpr std::align_val_t kAlignment{kCacheLine};

struct Free {
  void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
};

struct Scratch {
  std::unique_ptr<std::byte, Free> memory;
  std::size_t bytes = 0;
};

// Returns whether there is new memory, which holds anything.
bool grow(Scratch& scratch, std::size_t bytes) {
  if (scratch.bytes >= bytes) {
    return false;
  }
  scratch = {};  // the old block is not needed while the new one is allocated
  scratch.memory.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
  scratch.bytes = bytes;
  return true;
}

}  // namespace

std::byte* thread_scratch(std::size_t bytes, ScratchUse use) {
  thread_local std::array<Scratch, 2> all;
  Scratch& scratch = all[static_cast<std::size_t>(use)];
  grow(scratch, bytes);
  return scratch.memory.get();
}

std::byte* zeroed_thread_scratch(std::size_t bytes) {
  thread_local Scratch scratch;
  if (grow(scratch, bytes)) {
    std::memset(scratch.memory.get(), 0, bytes);
  }
  return scratch.memory.get();
}

}  // namespace antichain::cpu
