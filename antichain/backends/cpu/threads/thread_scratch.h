// Memory for what a kernel needs only while it runs. It belongs to the thread, not to the kernel: a
// program of a hundred convolutions needs the room of the largest, not of all.
#pragma once

#include <cstddef>

namespace antichain::cpu {

inline constexpr std::size_t kCacheLine = 64;  // bytes, and those of the widest vector register

/// Returns `bytes` rounded up so that what follows starts on a cache line.
constexpr std::size_t whole_cache_lines(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

/// Says who asks for memory: a kernel, or code that keeps it while it calls kernels.
enum class ScratchUse { kernel, around_kernels };

/// Returns memory of the calling thread, at least `bytes`, on a cache line. It holds anything, and
/// is the caller's until this thread asks again for the same use.
std::byte* thread_scratch(std::size_t bytes, ScratchUse use = ScratchUse::kernel);

/// Returns other memory of the calling thread, on a cache line, whose bytes are all 0. Whoever asks
/// leaves it so: what was written is cheaper to clear than all of it.
std::byte* zeroed_thread_scratch(std::size_t bytes);

}  // namespace antichain::cpu
