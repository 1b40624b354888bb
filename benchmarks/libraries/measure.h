// How times are taken, and how results are printed for the script to collect.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "library.h"

namespace libraries {

/// Returns the seconds of the fastest of many runs: what the machine can do when nothing disturbs.
inline double best_seconds(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  constexpr int kFewest = 5, kMost = 1000;
  constexpr double kEnough = 0.5;  // seconds
  run();
  double best = 1e9, total = 0;
  for (int n = 0; n < kFewest || (n < kMost && total < kEnough); ++n) {
    const auto start = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

/// Reads the number of threads from the command line.
inline int threads_from(int argc, char** argv) { return argc > 1 ? std::atoi(argv[1]) : 1; }

/// Returns numbers from [-1, 1), the same ones every time.
inline std::vector<float> numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes (Press et al. 2007), ch. 7.1
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return values;
}

/// Measures one case on some threads and prints a line: case, library, GFLOP/s, whether 1 to 4
/// threads give the same bits. `prepare` may return nothing.
inline void measure(const std::string& name, double flops, int threads,
                    const std::function<std::function<void()>()>& prepare,
                    const std::vector<float>& result) {
  set_threads(threads);
  const std::function<void()> run = prepare();
  if (!run) {
    return;
  }
  const double speed = flops / best_seconds(run) * 1e-9;
  bool same = true;
  std::vector<float> first;
  for (int tried = 1; tried <= 4; ++tried) {
    set_threads(tried);
    prepare()();
    if (tried == 1) {
      first = result;
    }
    same = same && std::equal(first.begin(), first.end(), result.begin());
  }
  std::printf("%s\t%s\t%.1f\t%s\n", name.c_str(), title().c_str(), speed, same ? "yes" : "no");
  std::fflush(stdout);
}

}  // namespace libraries
