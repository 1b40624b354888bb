#include "antichain/backends/cpu/parallel.h"

#include <exception>
#include <limits>
#include <mutex>

#include "antichain/base/error.h"

#ifdef _OPENMP
#include <omp.h>
#endif

// ThreadSanitizer does not see how OpenMP's own library makes threads wait for each other.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#define ANTICHAIN_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define ANTICHAIN_TSAN_RELEASE(address) __tsan_release(address)
#else
#define ANTICHAIN_TSAN_ACQUIRE(address) static_cast<void>(address)
#define ANTICHAIN_TSAN_RELEASE(address) static_cast<void>(address)
#endif

namespace antichain::cpu {

#ifdef _OPENMP

namespace {

struct Work {
  std::int64_t count;
  FunctionRef<void(std::int64_t n)> task;
  std::mutex mutex;
  std::exception_ptr error = nullptr;
  std::int64_t error_at = std::numeric_limits<std::int64_t>::max();
  char forked = 0, joined = 0;  // addresses that stand for the two points where threads meet
};

[[gnu::noinline]] void run_share(Work& work, std::int64_t thread, std::int64_t threads) {
  ANTICHAIN_TSAN_ACQUIRE(&work.forked);
  // Neighbouring ranges go to one thread: they share cache lines and pages.
  const std::int64_t first = work.count * thread / threads;
  const std::int64_t last = work.count * (thread + 1) / threads;
  for (std::int64_t n = first; n < last; ++n) {
    try {
      work.task(n);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(work.mutex);
      if (n < work.error_at) {
        work.error = std::current_exception();
        work.error_at = n;
      }
    }
  }
  ANTICHAIN_TSAN_RELEASE(&work.joined);
}

// Alone in a function, because ThreadSanitizer must not see how OpenMP hands the address over.
[[gnu::noinline, gnu::no_sanitize("thread")]] void fork_and_join(Work* work) {
#pragma omp parallel firstprivate(work) default(none)
  run_share(*work, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace

void parallel_tasks(std::int64_t count, FunctionRef<void(std::int64_t n)> task) {
  if (count <= 1 || omp_get_max_threads() == 1 || omp_in_parallel()) {
    for (std::int64_t n = 0; n < count; ++n) {
      task(n);
    }
    return;
  }
  Work work{.count = count, .task = task};
  ANTICHAIN_TSAN_RELEASE(&work.forked);
  fork_and_join(&work);
  ANTICHAIN_TSAN_ACQUIRE(&work.joined);
  if (work.error) {
    std::rethrow_exception(work.error);
  }
}

int num_threads() { return omp_get_max_threads(); }

void set_num_threads(int threads) {
  require(threads >= 1, "the number of threads must be 1 or more, got {}", threads);
  omp_set_num_threads(threads);
}

#else

void parallel_tasks(std::int64_t count, FunctionRef<void(std::int64_t n)> task) {
  for (std::int64_t n = 0; n < count; ++n) {
    task(n);
  }
}

int num_threads() { return 1; }

void set_num_threads(int threads) {
  require(threads >= 1, "the number of threads must be 1 or more, got {}", threads);
}

#endif

}  // namespace antichain::cpu
