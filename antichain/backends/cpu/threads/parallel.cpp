#include "antichain/backends/cpu/threads/parallel.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "antichain/backends/cpu/threads/openmp_binding.h"
#include "antichain/backends/cpu/threads/thread_pool.h"
#include "antichain/base/error.h"
#include "antichain/base/parse_number.h"
#include "antichain/base/usable_cores.h"

namespace antichain::cpu {

namespace {

// One pool for the process, because cores belong to it: sessions and callers share threads as they
// share cores. It is never destroyed: threads of the program may still compute while it ends.
ThreadPool& pool() {
  static ThreadPool& pool = *new ThreadPool(
      default_threads(std::getenv("ANTICHAIN_THREADS"), std::getenv("OMP_NUM_THREADS")));
  return pool;
}

}  // namespace

int default_threads(const char* ours, const char* openmp) {
  if (ours != nullptr && *ours != '\0') {
    const std::optional<std::int64_t> threads = parse_number<std::int64_t>(ours);
    require(threads && *threads >= 1 && *threads <= kMostThreads,
            "ANTICHAIN_THREADS is '{}'; it must be a number of threads from 1 to {}", ours,
            kMostThreads);
    return static_cast<int>(*threads);
  }
  // "4,2" are numbers for nested loops. What OpenMP would not understand it ignores, and so do we.
  if (const std::string_view text = openmp == nullptr ? "" : openmp; !text.empty()) {
    const std::optional<std::int64_t> threads =
        parse_number<std::int64_t>(text.substr(0, text.find(',')));
    if (threads && *threads >= 1) {
      require(*threads <= kMostThreads,
              "OMP_NUM_THREADS is '{}'; it must be a number of threads from 1 to {}", text,
              kMostThreads);
      return static_cast<int>(*threads);
    }
  }
  const std::vector<int> cores = cores_before_openmp_binding();
  return cores.empty() ? usable_cores() : usable_cores(static_cast<int>(cores.size()));
}

void parallel_tasks(std::int64_t count, FunctionRef<void(std::int64_t n)> task) {
  pool().run(count, task);
}

int num_threads() { return pool().threads(); }

void set_num_threads(int threads) { pool().set_threads(threads); }

}  // namespace antichain::cpu
