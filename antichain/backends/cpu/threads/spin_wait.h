// Waiting for another thread that will be done in a moment.
#pragma once

#include <chrono>
#include <thread>

namespace antichain::cpu {

/// Tells the core that this thread only waits.
inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Calls is_done() until it returns true, at most for `time`; returns what it returned last. Soon
/// it lets other threads have the core in between: the one that is waited for may need it.
template <class F>
bool spin_until(F is_done, std::chrono::nanoseconds time) {
  constexpr int kLooksBetween = 32;  // about a microsecond
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kLooksBetween; ++i) {
      if (is_done()) {
        return true;
      }
      pause_core();
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() - start < time);
  return is_done();
}

}  // namespace antichain::cpu
