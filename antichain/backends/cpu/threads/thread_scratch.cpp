#include "antichain/backends/cpu/threads/thread_scratch.h"

#include <array>
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

}  // namespace

std::byte* thread_scratch(std::size_t bytes, ScratchUse use) {
  thread_local std::array<Scratch, 2> all;
  Scratch& scratch = all[static_cast<std::size_t>(use)];
  if (scratch.bytes < bytes) {
    scratch = {};  // the old block is not needed while the new one is allocated
    scratch.memory.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    scratch.bytes = bytes;
  }
  return scratch.memory.get();
}

}  // namespace antichain::cpu
