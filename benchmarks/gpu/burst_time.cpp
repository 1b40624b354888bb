#include "benchmarks/gpu/burst_time.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace antichain::bench {

double burst_milliseconds(const Executable& run, const Feeds& feeds) {
  using Clock = std::chrono::steady_clock;
  constexpr double kEnough = 500;  // milliseconds
  constexpr std::size_t kFewest = 3;
  std::vector<Results> results(5);
  std::vector<double> times;
  run(feeds);
  run(feeds);
  for (double total = 0; total < kEnough || times.size() < kFewest;
       total += times.back() * static_cast<double>(results.size())) {
    const Clock::time_point start = Clock::now();
    for (Results& one : results) {
      run.start_into(one, feeds);
    }
    results.back().wait();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count() /
                    static_cast<double>(results.size()));
    for (Results& one : results) {
      one.wait();
    }
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace antichain::bench
