// What this machine can do at most, measured when a benchmark starts: the ceilings of its figures.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace antichain::bench {

/// Returns the floating-point operations per second of float32 multiply-adds that stay in
/// registers, on all threads that kernels use.
double peak_flops();

/// Returns the bytes per second, read and written, of copying between two buffers of `bytes` each,
/// on all threads that kernels use; the best of several.
double copy_bandwidth(std::int64_t bytes);

/// Returns the shortest time of one call of `f` in seconds, among calls of about 0.1 s together.
template <class F>
double best_time(F&& f) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity(), total = 0;
  while (total < 0.1) {
    const auto start = Clock::now();
    f();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

}  // namespace antichain::bench
