#include "antichain/base/cpu_time.h"

#include <algorithm>
#include <ctime>
#include <thread>
#include <vector>

#include "antichain/base/error.h"

namespace antichain {

std::chrono::nanoseconds thread_cpu_time() {
  timespec time{};
  ensure(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0, "a thread has no CPU clock");
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

double waiting_share(int threads, std::chrono::nanoseconds time) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> shares(static_cast<std::size_t>(threads));
  {
    std::vector<std::jthread> running;
    for (double& share : shares) {
      running.emplace_back([&share, time] {
        const Clock::time_point start = Clock::now();
        const std::chrono::nanoseconds before = thread_cpu_time();
        while (Clock::now() - start < time) {
        }
        const std::chrono::duration<double> all = Clock::now() - start,
                                            ran = thread_cpu_time() - before;
        share = std::max(0.0, 1 - ran / all);
      });
    }
  }
  return std::ranges::max(shares);
}

}  // namespace antichain
