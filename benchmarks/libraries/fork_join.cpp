// What a training step of small ops asks of threads: a short serial part, then some tasks, again
// and again, while other processes do the same. Compiled once per library by
// benchmarks/libraries/threads.
//   fork_join <threads> <seconds>
// Says `ready`, begins when a line arrives on standard input, prints microseconds per round.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#if defined(USE_OPENMP)
#include <omp.h>
#elif defined(USE_TBB)
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#elif defined(USE_PTHREADPOOL)
#include <pthreadpool.h>
#else
#include "antichain/backends/cpu/threads/parallel.h"
#endif

namespace {

using Clock = std::chrono::steady_clock;

// Calls task(n) for n in [0, count).
template <class F>
class Threads {
 public:
  explicit Threads(int threads, F task) : task_(task) {
#if defined(USE_OPENMP)
    omp_set_num_threads(threads);
#elif defined(USE_TBB)
    static tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                     static_cast<std::size_t>(threads));
#elif defined(USE_PTHREADPOOL)
    pool_ = pthreadpool_create(static_cast<std::size_t>(threads));
#else
    antichain::cpu::set_num_threads(threads);
#endif
  }

  void run(int count) {
#if defined(USE_OPENMP)
#pragma omp parallel for schedule(static)
    for (int n = 0; n < count; ++n) {
      task_(n);
    }
#elif defined(USE_TBB)
    tbb::parallel_for(0, count, task_);
#elif defined(USE_PTHREADPOOL)
    pthreadpool_parallelize_1d(
        pool_,
        [](void* self, std::size_t n) { static_cast<Threads*>(self)->task_(static_cast<int>(n)); },
        this, static_cast<std::size_t>(count), PTHREADPOOL_FLAG_DISABLE_DENORMALS);
#else
    antichain::cpu::parallel_tasks(count, [this](std::int64_t n) { task_(static_cast<int>(n)); });
#endif
  }

 private:
  F task_;
#if defined(USE_PTHREADPOOL)
  pthreadpool_t pool_;
#endif
};

// So many additions that depend on each other: about as many cycles times four.
void compute(int additions) {
  double sum = 0;
  for (int i = 0; i < additions; ++i) {
    sum += 1.5;
    asm volatile("" : "+x"(sum));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: fork_join <threads> <seconds>\n");
    return 1;
  }
  constexpr int kSerial = 8'000, kTask = 8'000, kTasks = 8;  // some 10 microseconds each
  Threads threads(std::atoi(argv[1]), [](int) { compute(kTask); });
  const double seconds = std::atof(argv[2]);
  threads.run(kTasks);
  std::printf("ready\n");
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  const Clock::time_point start = Clock::now();
  std::int64_t rounds = 0;
  std::chrono::duration<double> passed{0};
  for (; passed.count() < seconds; passed = Clock::now() - start, ++rounds) {
    compute(kSerial);
    threads.run(kTasks);
  }
  std::printf("%g\n", passed.count() * 1e6 / static_cast<double>(rounds));
}
