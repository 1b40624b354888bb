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

void parallel_tasks(std::int64_t count, FunctionRef<void(std::int64_t n)> task) {
  if (count <= 1 || omp_get_max_threads() == 1 || omp_in_parallel()) {
    for (std::int64_t n = 0; n < count; ++n) {
      task(n);
    }
    return;
  }
  struct Shared {
    std::int64_t count;
    FunctionRef<void(std::int64_t n)> task;
    std::mutex mutex;
    std::exception_ptr error = nullptr;
    std::int64_t error_at = std::numeric_limits<std::int64_t>::max();
    char forked = 0, joined = 0;  // addresses that stand for the two points where threads meet
  } shared{.count = count, .task = task};
  Shared* const all = &shared;
  ANTICHAIN_TSAN_RELEASE(&shared.forked);
#pragma omp parallel firstprivate(all) default(none)
  {
    ANTICHAIN_TSAN_ACQUIRE(&all->forked);
    const std::int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
    // Neighbouring ranges go to one thread: they share cache lines and pages.
    const std::int64_t first = all->count * thread / threads;
    const std::int64_t last = all->count * (thread + 1) / threads;
    for (std::int64_t n = first; n < last; ++n) {
      try {
        all->task(n);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(all->mutex);
        if (n < all->error_at) {
          all->error = std::current_exception();
          all->error_at = n;
        }
      }
    }
    ANTICHAIN_TSAN_RELEASE(&all->joined);
  }
  ANTICHAIN_TSAN_ACQUIRE(&shared.joined);
  if (shared.error) {
    std::rethrow_exception(shared.error);
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
